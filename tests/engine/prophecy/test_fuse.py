"""The lists that propose documents, joined."""

from engine.prophecy.retrieve import list_proposals


def test_each_document_knows_its_best_rank_for_each_phrase() -> None:
    asked = [("a", [7, 8]), ("b", [8]), ("a", [8, 7])]  # by words, and by meaning
    found = {proposal.id: proposal for proposal in list_proposals({"lexical": [9, 7]}, asked)}
    assert found[7].asked_for == {"a": 1}
    assert found[7].ranks == {"lexical": 2}
    assert found[8].asked_for == {"a": 1, "b": 1}
    assert found[8].ranks == found[9].asked_for == {}
