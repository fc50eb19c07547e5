"""The lists that propose documents, joined."""

from engine.prophecy.retrieve import LEXICAL, SEMANTIC, Proposal, list_proposals


def ids(found: list[Proposal]) -> list[int]:
    return [one.id for one in found]


def test_lists_of_the_headline_are_fused_without_phrases() -> None:
    found = list_proposals({LEXICAL: [1, 2], SEMANTIC: [3, 2]}, [])
    assert ids(found) == [2, 1, 3]
    assert found[0].ranks == {"lexical": 2, "semantic": 2}
    assert found[0].asked_for == {}


def test_the_headline_weighs_as_much_as_a_phrase() -> None:
    assert ids(list_proposals({LEXICAL: [1]}, [("a", [2])])) == [1, 2]
    assert ids(list_proposals({LEXICAL: [1]}, [("a", [2]), ("b", [2])])) == [2, 1]


def test_each_document_knows_its_best_rank_for_each_phrase() -> None:
    asked = [("a", [7, 8]), ("b", [8]), ("a", [8, 7])]  # by words, and by meaning
    found = {proposal.id: proposal for proposal in list_proposals({LEXICAL: [9, 7]}, asked)}
    assert found[7].asked_for == {"a": 1}
    assert found[7].ranks == {"lexical": 2}
    assert found[8].asked_for == {"a": 1, "b": 1}
    assert found[8].ranks == found[9].asked_for == {}


def test_empty_lists_give_no_proposals() -> None:
    assert list_proposals({LEXICAL: [], SEMANTIC: []}, [("a", [])]) == []
