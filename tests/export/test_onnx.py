"""Linear maps as ONNX; skipped where skl2onnx is not installed."""

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelspan import CCA, DLE, HSL, LDA, LPP, LSI, MLSI, OPLS
from labelspan.export import register_onnx

skl2onnx = pytest.importorskip("skl2onnx", reason="pip install skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="install labelspan[adapt]")

X, Y = make_multilabel_classification(80, 12, n_classes=4, random_state=0)
X = X + 1000.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [LSI, MLSI, OPLS, CCA, LDA, HSL, DLE, LPP])
def test_the_converted_model_transforms_alike(kind, dtype):
    register_onnx()
    y = {LDA: Y[:, 0], LPP: None, LSI: None}.get(kind, Y)
    for model in (kind(1), make_pipeline(StandardScaler(), kind(1))):
        model.fit(X, y)
        converted = skl2onnx.to_onnx(model, X[:1].astype(dtype))
        session = onnxruntime.InferenceSession(converted.SerializeToString())
        (found,) = session.run(None, {"X": X.astype(dtype)})
        wanted = model.transform(X)
        assert found.dtype == dtype
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(
            found, wanted, atol=scale * (1e-4 if dtype == np.float32 else 1e-9)
        )
