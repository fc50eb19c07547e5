"""The intent of a message is learned from examples."""

from collections import Counter

from bot.commands.intents import Intent, IntentClassifier, read_examples

EXAMPLES = [
    (Intent.MORE, "show me more"),
    (Intent.MORE, "more of these please"),
    (Intent.SOURCE, "who wrote this"),
    (Intent.SOURCE, "where is this from"),
    (Intent.QUIET, "be quiet at night"),
    (Intent.QUIET, "be silent until nine"),
    (Intent.REMARK, "that is so good"),
    (Intent.REMARK, "i love the first one"),
    (Intent.HEADLINE, "Coffee prices soar in Brazil"),
    (Intent.TOPIC, "coffee"),
]


def test_a_message_has_the_intent_of_examples_with_its_words() -> None:
    classifier = IntentClassifier(EXAMPLES)
    for text, intent in (
        ("could you show more", Intent.MORE),
        ("Who wrote it?", Intent.SOURCE),
        ("quiet until nine please", Intent.QUIET),
    ):
        classification = classifier.classify(text)
        assert (classification.intent, classification.certainty > 0) == (intent, True)


def test_remarks_and_news_are_no_request() -> None:
    classifier = IntentClassifier(EXAMPLES)
    for text in ("i love that", "Tea prices soar in India", "coffee", ""):
        assert classifier.classify(text).certainty <= 0


def test_accents_courtesies_and_numbers_make_no_difference() -> None:
    classifier = IntentClassifier([*EXAMPLES, (Intent.REASON, "¿por qué el 2?")])
    for text in ("por que el 3?", "¿Por qué el 2, por favor?"):
        assert classifier.classify(text).intent is Intent.REASON


def test_a_word_of_many_questions_is_no_subject() -> None:
    asked = (Intent.MORE, Intent.TEXTS, Intent.CORPUS, Intent.SOURCE, Intent.ARCHIVE)
    classifier = IntentClassifier([(intent, "any tweets of tea") for intent in asked] + EXAMPLES)
    assert classifier.is_frequent_in_questions("tweets")
    assert not classifier.is_frequent_in_questions("coffee")


def test_each_intent_has_examples_and_no_text_has_two() -> None:
    examples = [*read_examples()]
    counts = Counter(intent for intent, _ in examples)
    assert all(counts[intent] >= 10 for intent in Intent)
    assert max(Counter(text.lower() for _, text in examples).values()) == 1
