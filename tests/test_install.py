"""The command that installs an extra is one that works."""

from importlib import metadata

import pytest

from labelspan import _install


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'labelspan[app]'"),
        ('{"url": "file:///a/b%20c", "dir_info": {}}', "pip install '/a/b c[app]'"),
        (
            '{"url": "https://host.example/labelspan.zip"}',
            "pip install 'labelspan[app] @ https://host.example/labelspan.zip'",
        ),
    ],
)
def test_extras_come_from_where_the_package_came_from(origin, command, monkeypatch):
    class Installed:
        def read_text(self, name):
            return origin if name == "direct_url.json" else None

    monkeypatch.setattr(metadata, "distribution", lambda name: Installed())
    assert _install.install_command("app") == command


def test_without_an_installation(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert _install.install_command("app,plot") == "pip install 'labelspan[app,plot]'"
