"""Teach a label: the ranking, the events of a lesson in any order, and what is applied."""

import csv
import io
import shutil
import threading
from dataclasses import astuple

import numpy as np
import pytest

from labelspan import LSI, SemanticIndex
from labelspan.curation import Teacher
from labelspan.curation.lesson_model import Left, LessonFeatures, LessonModel
from labelspan.curation.screening_files import ScreenedItem, read_decisions
from labelspan.curation.stopping import most_left
from labelspan.errors import InvalidInput, InvalidParameter, Mismatch

WORDS = {
    "chess": "chess board pawn knight opening endgame tournament rook bishop",
    "photo": "photo camera lens picture crop exposure colour filter album",
    "music": "music song guitar chord melody rhythm album band record",
}


def corpus(count=30):
    """Texts of three topics; those of chess have the label game, half of them also board."""
    rng = np.random.default_rng(0)
    ids, texts, labels = [], [], []
    for n in range(count):
        for topic, words in WORDS.items():
            own = rng.choice(words.split(), 5).tolist()
            ids.append(f"{topic}{n}")
            texts.append(" ".join([topic, *own, "about", "a", str(n)]))
            labels.append([{"chess": "game", "photo": "image", "music": "sound"}[topic]])
    return texts, labels, ids


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("teach") / "index.labelspan"
    SemanticIndex().fit(*corpus()).save(path)
    return path


@pytest.fixture
def folder(original, tmp_path):
    return shutil.copytree(original, tmp_path / "index.labelspan")


@pytest.fixture
def index(folder):
    with SemanticIndex.load(folder, write=True) as opened:
        yield opened


def truth(item):
    return "yes" if item.startswith("chess") else "no"


def answer(teacher, count, who=""):
    """Answer some questions as an expert would; return the ids in their order."""
    asked = []
    for _ in range(count):
        (question,) = teacher.questions(1)
        teacher.answer(question.item, truth(question.item), who=who)
        asked.append(question.item)
    return asked


# --- the ranking ----------------------------------------------------------------------------


def test_what_belongs_is_asked_about_first(index):
    teacher = Teacher(index, "strategy", items=["chess0", "chess1"])
    asked = answer(teacher, 30)
    assert len(set(asked)) == 30
    # Of 28 that are left to be found, and three near misses on the way.
    assert sum(truth(item) == "yes" for item in asked[:28]) >= 24
    done = teacher.progress()
    assert done.yes + done.no == 32
    assert done.left.low <= 30 - done.yes <= done.left.high


@pytest.mark.parametrize("start", ["search", "label", "within"])
def test_a_lesson_starts_from_a_search_or_a_label(index, start):
    if start == "label":
        for n in range(2, 30):
            index.relabel(f"chess{n}", [])
        teacher = Teacher(index, "game")
        assert teacher.progress().members == 2
    elif start == "search":
        teacher = Teacher(index, "strategy", query="chess opening")
        assert teacher.questions(1)[0].probability is None
    else:
        index.relabel([f"photo{n}" for n in range(30)], [["image", "game"]] * 30)
        teacher = Teacher(index, "strategy", query="chess", within="game")
    asked = answer(teacher, 20)
    assert sum(truth(item) == "yes" for item in asked) >= 16
    if start == "within":
        assert not any(item.startswith("music") for item in asked)


def test_a_higher_score_never_has_a_lower_probability(index):
    """Also after answers that contradict each other."""
    features = LessonFeatures(index, "strategy")
    for seed in range(20):
        rows = np.random.default_rng(seed).permutation(len(index))[:8].tolist()
        model = LessonModel(
            features, dict.fromkeys(rows[:4], True) | dict.fromkeys(rows[4:], False)
        )
        order = np.argsort(model.scores)
        assert (np.diff(model.probabilities()[order]) >= 0).all()


def test_scores_without_a_row_are_those_of_a_model_without_it(index):
    features = LessonFeatures(index, "strategy")
    yes, no = [0, 3, 6, 9], [1, 2, 4, 5]
    model = LessonModel(features, dict.fromkeys(yes, True) | dict.fromkeys(no, False))
    # The weights of a model with one row less differ by one factor, which alpha makes up for.
    assert model.left_out.shape == (8,)
    words, labels = features.words.toarray(), features.labels.toarray()
    Z = np.hstack([words * np.sqrt(0.85), labels * np.sqrt(0.15), np.ones((len(words), 1))])
    target = np.array([1.0] * 4 + [-1.0] * 4)
    weights = np.array([10.0] * 4 + [1.0] * 4)
    weights *= 8 / weights.sum()
    rows = np.array(yes + no)
    full = np.linalg.solve(
        Z[rows].T @ (weights[:, None] * Z[rows]) + 4.5 * np.eye(Z.shape[1]),
        Z[rows].T @ (weights * target),
    )
    unseen = np.setdiff1d(np.arange(len(Z)), rows)
    np.testing.assert_allclose(model.scores[unseen], Z[unseen] @ full, atol=1e-4)
    kept = np.arange(8) != 2
    without = np.linalg.solve(
        Z[rows[kept]].T @ (weights[kept, None] * Z[rows[kept]]) + 4.5 * np.eye(Z.shape[1]),
        Z[rows[kept]].T @ (weights[kept] * target[kept]),
    )
    np.testing.assert_allclose(model.left_out[2], Z[rows[2]] @ without, atol=1e-4)
    of_words, of_labels = model.contributions(int(rows[2]))
    total = of_words.sum() + of_labels.sum() + without[-1]
    np.testing.assert_allclose(total, model.left_out[2], atol=1e-4)


def test_answers_say_little_about_much_lower_scores():
    """Where three of five belong whatever their score, an item of median score hardly does."""
    model = LessonModel.__new__(LessonModel)
    model.scores = np.sort(np.random.default_rng(0).standard_normal(2000))
    model.rows = np.arange(1900, 2000)
    model.answered = np.ones(100, dtype=bool)
    model.left_out = model.scores[-100:]
    model.targets = np.where(np.arange(100) % 5 < 3, 1.0, -1.0)
    chances = model.probabilities()
    assert chances[-100:].mean() == pytest.approx(0.6, abs=0.1)
    assert chances[1000] < 0.05
    assert np.all(np.diff(chances) >= 0)
    left = model.left(np.arange(1900), 1900)
    assert left.low <= left.expected <= left.high == 1900
    assert model.left(np.arange(1900), 1) == Left(1.0, 1, 1)


@pytest.mark.parametrize("answers", [150, 250, 350])
def test_where_many_belong_many_are_left(answers):
    """Among recent answers one of four belongs: so do others with scores that are little lower."""
    inside = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        truth = rng.random(500) < 0.3
        model = LessonModel.__new__(LessonModel)
        model.scores = 0.3 * truth + 0.5 * rng.standard_normal(500)
        order = np.argsort(-model.scores)
        model.rows, rest = order[:answers], order[answers:]
        model.answered, model.left_out = np.ones(answers, dtype=bool), model.scores[model.rows]
        model.targets = np.where(truth[model.rows], 1.0, -1.0)
        left = model.left(rest, most_left(truth[order[:answers]], len(rest)))
        inside.append(left.low <= np.count_nonzero(truth[rest]) <= left.high)
    assert sum(inside) >= 6


def test_words_and_labels_speak_for_and_against(index):
    teacher = Teacher(index, "strategy", items=["chess0", "chess1"])
    answer(teacher, 40)
    item = teacher.questions(1)[0].item
    words, labels = teacher.explain("photo29")
    assert {one.word for one in words if one.share < 0} & {"photo", "camera", "lens", "picture"}
    assert labels[0].word == "image"
    assert labels[0].share < 0
    assert teacher.explain(item)[0]
    chances = teacher.probabilities()
    assert chances["photo29" if "photo29" in chances else item] < 0.5
    assert not set(chances) & set(teacher.answers())


def test_near_misses_come_in_between(index):
    teacher = Teacher(index, "strategy", items=["chess0", "chess1"])
    teacher.answer("photo0", "no")
    for asked in range(3, 40):
        (question,) = teacher.questions(1)
        # The twentieth question is one; at the fortieth nothing is likely any more.
        assert question.kind == ("near" if asked == 19 else "likely")
        if question.kind == "near":
            assert question.probability < 0.5
            likelier = [one.probability >= 0.5 for one in teacher.questions(6)]
            assert likelier == [False] + [True] * 5
        teacher.answer(question.item, truth(question.item))


def test_a_probability_is_shown_when_it_is_known(index):
    teacher = Teacher(index, "strategy", items=["chess0", "chess1"])
    assert {one.probability for one in teacher.questions(20)} == {None}
    assert teacher.probabilities() == {}
    for n in range(3):
        teacher.answer(f"photo{n}", "no")
    assert all(0 < one.probability < 1 for one in teacher.questions(20))
    # Items that have the label are evidence of what belongs.
    assert Teacher(index, "game").questions(1)[0].probability is not None


def test_the_end_is_said(index):
    teacher = Teacher(index, "strategy", items=["chess0", "chess1"])
    assert teacher.progress().left is None
    assert "after 10 answers" in teacher.progress().said
    answer(teacher, 70)
    done = teacher.progress()
    assert done.enough
    assert done.said.endswith("Enough: at least 95% are found.")
    # More certainty costs more answers.
    teacher.aim(1)
    assert "For 100%: about" in teacher.progress().said
    again = Teacher(index, "strategy")
    assert again.progress().said == teacher.progress().said
    for target in (0.4, 1.1, float("nan")):
        with pytest.raises(InvalidParameter, match="target must be between"):
            teacher.aim(target)
    answer(teacher, 18)
    assert teacher.questions(5) == []
    assert teacher.progress().left.expected == 0


@pytest.mark.parametrize("kind", ["vectors", "no labels", "two items"])
def test_other_indexes(kind):
    texts, labels, ids = corpus(6)
    if kind == "vectors":
        vectors = np.random.default_rng(0).standard_normal((len(texts), 5)).astype(np.float32)
        vectors[::3] += 3
        index = SemanticIndex().fit([""] * len(texts), labels, ids, vectors=vectors)
    elif kind == "no labels":
        index = SemanticIndex(LSI()).fit(texts, ids=ids)
    else:
        index = SemanticIndex(LSI(1)).fit(["a chess game", ""], ids=["chess0", "empty"])
    teacher = Teacher(index, "strategy", items="chess0")
    asked = answer(teacher, min(10, len(index) - 1))
    if kind != "two items":
        assert sum(truth(item) == "yes" for item in asked) == 5
    teacher.apply(teacher.plan())
    assert index.item("chess0").labels == (
        ("game", "strategy") if kind == "vectors" else ("strategy",)
    )


# --- sequences ------------------------------------------------------------------------------


def test_undo_goes_back_one_answer_at_a_time(index):
    teacher = Teacher(index, "strategy", items=["chess0"], who="anna")
    first = answer(teacher, 3)
    teacher.answer(first[2], "no")
    assert teacher.answers()[first[2]] == "no"
    assert teacher.undo().answer == "no"
    # The answer before is in effect again.
    assert teacher.answers()[first[2]] == truth(first[2])
    assert teacher.undo().item == first[2]
    assert teacher.questions(1)[0].item == first[2]
    assert teacher.undo(item=first[0]).item == first[0]
    assert list(teacher.answers()) == ["chess0", first[1]]
    assert teacher.undo(who="ben") is None
    while teacher.undo() is not None:
        pass
    assert teacher.answers() == {}
    assert [one.undone for one in teacher.log()] == [True] * 5


def test_a_lesson_goes_on_after_a_restart(folder):
    with SemanticIndex.load(folder, write=True) as index:
        teacher = Teacher(index, "strategy", items=["chess0"], query="chess", who="anna")
        answer(teacher, 12)
        teacher.answer(teacher.questions(1)[0].item, "skip")
        teacher.undo()
        before = teacher.log(), teacher.answers(), teacher.questions(3), teacher.progress()
    with SemanticIndex.load(folder, write=True) as index:
        assert [one.label for one in Teacher.lessons(index)] == ["strategy"]
        assert Teacher.lessons(index)[0].n_answers == 13
        again = Teacher(index, "strategy")
        assert (again.log(), again.answers(), again.questions(3), again.progress()) == before
        # A save replaces the store; the lesson goes on in it.
        index.save()
        assert again.answers() == before[1]
        answer(again, 2)
        assert len(again.log()) == len(before[0]) + 2


def test_two_people_lose_no_answer(folder):
    with SemanticIndex.load(folder, write=True) as index:
        both = [Teacher(index, "strategy", items=["chess0"], who=who) for who in ("anna", "ben")]
        given = {"anna": [], "ben": []}

        def work(teacher):
            for _ in range(15):
                (question,) = teacher.questions(1)
                teacher.answer(question.item, truth(question.item))
                given[teacher.who].append(question.item)

        threads = [threading.Thread(target=work, args=(one,)) for one in both]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        for teacher in both:
            log = teacher.log()
            assert [one.number for one in log] == list(range(1, 32))
            for who, items in given.items():
                assert [one.item for one in log if one.who == who][-15:] == items
        assert both[0].answers() == both[1].answers()
        # Each undoes their own last answer.
        assert both[0].undo().item == given["anna"][-1]
        assert both[1].undo().item == given["ben"][-1]


def test_two_people_answer_and_undo_the_same_item(folder):
    with SemanticIndex.load(folder, write=True) as index:
        anna, ben = (
            Teacher(index, "strategy", items=["chess0"], who=who) for who in ("anna", "ben")
        )
        anna.answer("chess1", "yes")
        ben.answer("chess1", "no")
        # The answer of the other one stays, and counts.
        assert anna.undo()[2:5] == ("anna", "chess1", "yes")
        assert ben.answers()["chess1"] == "no"
        assert ben.undo("chess1")[2:5] == ("ben", "chess1", "no")
        assert ben.undo("chess1") is None
        for teacher in (anna, ben, Teacher(index, "strategy")):
            assert "chess1" not in teacher.answers()


def test_labels_and_items_change_meanwhile(index):
    teacher = Teacher(index, "strategy", items=["chess0", "chess1"])
    asked = answer(teacher, 7)
    index.relabel("chess2", ["strategy", "game"])
    if "chess2" not in asked:
        assert teacher.progress().members == 1
        assert "chess2" not in [one.item for one in teacher.questions(20) if one.kind == "likely"]
    index.remove(asked[0])
    index.add(["chess rook endgame about a new one"], [["game"]], ["chess-new"])
    assert asked[0] not in [one.item for one in teacher.questions(100)]
    assert "chess-new" in [one.item for one in teacher.questions(100)]
    with pytest.raises(InvalidInput, match="no item"):
        teacher.answer(asked[0], "yes")
    # What was answered about it is ignored, and exported.
    assert asked[0] not in {item for _, item, _ in teacher.plan().pairs}
    assert asked[0] in {one.item for one in teacher.log()}
    # An item that is replaced keeps its answer.
    index.add(["photo lens"], [["image"]], [asked[1]], replace=True)
    assert asked[1] in teacher.answers()
    answer(teacher, 10)


# --- the end --------------------------------------------------------------------------------


def test_answers_become_one_change_that_can_be_undone(index):
    before = {item.id: item.labels for item in index.items()}
    teacher = Teacher(index, "strategy", items=["chess0", "chess1"])
    answer(teacher, 10)
    yes = {item for item, one in teacher.answers().items() if one == "yes"}
    edit = teacher.plan()
    assert edit.new_labels == ("strategy",)
    assert {item for _, item, _ in edit.pairs} == yes
    made = teacher.apply(edit, who="anna")
    assert index.labels["strategy"] == len(yes)
    assert teacher.progress().applied == made.number
    assert teacher.plan().pairs == ()
    assert teacher.apply(teacher.plan()) is None
    index.undo(made.number)
    assert {item.id: item.labels for item in index.items()} == before
    # The answers are still there, and can be applied again.
    assert {item for _, item, _ in teacher.plan().pairs} == yes


def test_likely_items_can_be_included(index):
    teacher = Teacher(index, "strategy", items=["chess0", "chess1"])
    answer(teacher, 30)
    chances = teacher.probabilities()
    few, many = teacher.plan(), teacher.plan(at_least=0.3)
    likely = {item for item, chance in chances.items() if chance >= 0.3}
    assert {item for _, item, _ in many.pairs} == {item for _, item, _ in few.pairs} | likely


def test_a_label_is_cleaned(index):
    index.relabel(["photo0", "photo1"], [["image", "game"]] * 2)
    index.relabel(["chess0", "chess1"], [["x"], ["x"]])
    teacher = Teacher(index, "game")
    for item in ("chess0", "photo0", "photo1", "chess2"):
        teacher.answer(item, truth(item))
    assert teacher.plan().said == "Add game to 1 item."
    teacher.apply(teacher.plan("clean"))
    assert index.item("photo0").labels == ("image",)
    assert index.item("chess0").labels == ("game", "x")
    assert index.item("chess1").labels == ("x",)
    index.undo()
    assert index.item("photo0").labels == ("game", "image")


@pytest.mark.parametrize("rest", ["", "others"])
def test_a_label_is_split(index, rest):
    index.relabel([f"photo{n}" for n in range(30)], [["game"]] * 30)
    teacher = Teacher(index, "chess", within="game", items=["chess0", "chess1"])
    answer(teacher, 8)
    yes = {item for item, one in teacher.answers().items() if one == "yes"}
    made = teacher.apply(teacher.plan("split", rest=rest))
    assert index.labels["chess"] == len(yes)
    assert index.labels.get("game", 0) == (0 if rest else 60 - len(yes))
    assert index.labels.get("others", 0) == (60 - len(yes) if rest else 0)
    index.undo(made.number)
    assert index.labels["game"] == 60
    assert "chess" not in index.labels


def test_answers_are_exported_in_their_order(index):
    teacher = Teacher(index, "strategy", items=["chess0"], who="anna")
    teacher.answer("photo0", "no", who='ben, "B"')
    teacher.answer("photo1", "skip")
    teacher.undo()
    rows = list(csv.DictReader(io.StringIO(teacher.to_csv())))
    found = [
        (row["number"], row["who"], row["item"], row["decision"], row["undone"]) for row in rows
    ]
    assert found == [
        ("1", "anna", "chess0", "include", ""),
        ("2", 'ben, "B"', "photo0", "exclude", ""),
        ("3", "anna", "photo1", "skip", "yes"),
    ]
    assert all(row["time"].endswith("Z") and row["title"] for row in rows)


def test_decisions_have_reasons_and_notes_and_can_be_changed(index):
    teacher = Teacher(index, "strategy", items=["chess0"], who="anna")
    assert len(teacher.reasons) == 5
    teacher.name_reasons(["animals", " animals ", "no trial"])
    assert Teacher(index, "strategy").reasons == ["animals", "no trial"]
    with pytest.raises(InvalidParameter, match="at most 5"):
        teacher.name_reasons([str(n) for n in range(6)])
    teacher.answer("photo0", "no", reason="animals", note="see p. 3")
    teacher.comment("photo0", reason="no trial")
    (last, first) = teacher.decisions()
    assert (last.item, last.answer, last.reason, last.note) == ("photo0", "no", "no trial", "")
    assert (first.item, first.title) == ("chess0", index.item("chess0").title)
    teacher.answer("photo0", "yes")
    assert teacher.decisions()[0].answer == "yes"
    with pytest.raises(InvalidInput, match="no answer about 'photo9'"):
        teacher.comment("photo9", note="none")
    with pytest.raises(InvalidInput, match="no answer"):
        teacher.comment("photo0", note="of another", who="ben")


def test_people_have_own_answers_and_conflicts(index):
    teacher = Teacher(index, "strategy", items=["chess0"], who="anna")
    for item in ("chess1", "photo0", "photo1"):
        teacher.answer(item, truth(item))
    blind = teacher.second_reading("ben", 10)
    assert {one.item for one in blind} == {"chess0", "chess1", "photo0", "photo1"}
    assert {one.probability for one in blind} == {None}
    teacher.answer("chess1", "no", who="ben")
    teacher.answer("photo0", "no", who="ben")
    assert {one.item for one in teacher.second_reading("ben")} == {"chess0", "photo1"}
    assert teacher.conflicts() == {"chess1": {"anna": "yes", "ben": "no"}}
    assert [one.item for one in teacher.decisions("ben")] == ["photo0", "chess1"]
    assert {one.who for one in teacher.decisions("anna")} == {"anna"}
    teacher.answer("chess1", "yes", who="ben")
    assert teacher.conflicts() == {}
    teacher.undo("chess1", who="ben")
    assert teacher.conflicts() == {"chess1": {"anna": "yes", "ben": "no"}}


def test_decisions_of_a_file_are_taken_over_and_promise_nothing(index):
    teacher = Teacher(index, "strategy", items=["chess0"], who="anna")
    answer(teacher, 12)
    teacher.answer("photo5", "no", reason="a photo")
    again = Teacher(index, "other", items=["chess0"])
    titles = index.item("chess1").title.upper()
    taken = read_decisions(teacher.to_ris())
    assert (
        again.take([*taken, ScreenedItem("", titles, "yes"), ScreenedItem("gone", "gone", "no")])
        == 14
    )
    assert [one.reason for one in again.decisions() if one.item == "photo5"] == ["a photo"]
    # Decisions about items that somebody chose say nothing about the others.
    photos = [ScreenedItem(f"photo{n}", "", "no") for n in range(6, 30)]
    again.take(photos)
    assert again.progress().left.high == again.progress().unseen


def test_bad_input_is_refused(folder):
    with SemanticIndex.load(folder) as reader, pytest.raises(Mismatch, match="write=True"):
        Teacher(reader, "strategy", items=["chess0"])
    with SemanticIndex.load(folder, write=True) as index:
        for label, options, words in (
            ("", {}, "name of a label"),
            ("gama", {}, "did you mean 'game'.*Give items or a search"),
            ("strategy", {"items": ["nothing"]}, "no item 'nothing'"),
            ("strategy", {"within": "gama"}, "did you mean"),
            ("game", {"within": "game"}, "into itself"),
            ("strategy", {"items": ["chess0"], "who": "x" * 201}, "more than 200"),
        ):
            with pytest.raises(InvalidInput, match=words):
                Teacher(index, label, **options)
        assert index.history() == []
        teacher = Teacher(index, "strategy", query="chess")
        with pytest.raises(InvalidInput, match="was started with query 'chess', not 'photo'"):
            Teacher(index, "strategy", query="photo")
        with pytest.raises(InvalidParameter, match="yes, no or skip"):
            teacher.answer("chess0", "maybe")
        with pytest.raises(InvalidParameter, match="add, split or clean"):
            teacher.plan("merge")
        with pytest.raises(Mismatch, match="within="):
            teacher.plan("split")
        with pytest.raises(Mismatch, match="only used with"):
            teacher.plan(rest="others")


def test_the_curve_of_a_lesson(index):
    teacher = Teacher(index, "strategy", items=["chess0", "chess1"])
    early = teacher.curve()
    assert (early.read, early.found, early.ahead) == ([0, 1, 2], [0, 1, 2], [])
    answer(teacher, 40)
    curve, done = teacher.curve(), teacher.progress()
    assert (curve.read[-1], curve.found[-1]) == (42, done.yes)
    assert (curve.ahead[0], curve.ahead[-1]) == (42, 42 + done.unseen)
    assert curve.expected[-1] == pytest.approx(done.yes + done.left.expected)
    assert (curve.low[-1], curve.high[-1]) == (done.yes + done.left.low, done.yes + done.left.high)
    assert np.all(np.diff([curve.low, curve.expected, curve.high], axis=1) >= 0)
    # What is expected lies within the band, at each number of answers.
    assert np.all(np.array(curve.expected) <= np.array(curve.high) + 1e-9)
    assert all(len(one) <= 60 for one in astuple(curve))
