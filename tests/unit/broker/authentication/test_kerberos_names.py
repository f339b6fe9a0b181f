"""sasl.kerberos.principal.to.local.rules, as Kafka's KerberosShortNamer reads them."""

import pytest

from odradek.broker.authentication.kerberos_names import MAX_PRINCIPAL_LENGTH, LocalNames, RuleError

REALM = "EXAMPLE.COM"
OF_ONE = "RULE:[1:$1@$0](.*@OTHER.COM)s/@.*//"


@pytest.mark.parametrize(
    ("rules", "principal", "user"),
    [
        ((), "anna@EXAMPLE.COM", "anna"),
        (("DEFAULT",), "kafka/node-1@EXAMPLE.COM", "kafka"),
        (("DEFAULT",), "anna@OTHER.COM", None),
        ((OF_ONE, "DEFAULT"), "anna@OTHER.COM", "anna"),
        ((OF_ONE, "DEFAULT"), "anna@EXAMPLE.COM", "anna"),
        ((OF_ONE,), "anna/sales@OTHER.COM", None),
        (("RULE:[2:$1-$2]",), "anna/sales@OTHER.COM", "anna-sales"),
        (("RULE:[2:$1;$2](^.*;admin$)s/;admin$//", "DEFAULT"), "anna/admin@EXAMPLE.COM", "anna"),
        (("RULE:[2:$1;$2](^.*;admin$)s/;admin$//", "DEFAULT"), "bert/user@EXAMPLE.COM", "bert"),
        (("RULE:[1:$1]s/a/b/",), "anna@X", "bnna"),
        (("RULE:[1:$1]s/a/b/g",), "anna@X", "bnnb"),
        (("RULE:[1:$1]s/(a)(n)/$2$1/",), "anna@X", "nana"),
        (("RULE:[1:$1]/L",), "ANNA@X", "anna"),
        (("RULE:[1:$1]s/n/m//U",), "anna@X", "AMNA"),
        (("RULE:[1:$1@$0]", "DEFAULT"), "anna@EXAMPLE.COM", None),
        (("RULE:[1:$1](b.*)",), "anna@X", None),
        (("RULE:[1:$1]s/.*//",), "anna@X", None),
        (("DEFAULT",), "anna", None),
        (("DEFAULT",), "a/b/c@EXAMPLE.COM", None),
        (("DEFAULT",), "a@b@EXAMPLE.COM", None),
        (("DEFAULT",), "a" * MAX_PRINCIPAL_LENGTH + "@EXAMPLE.COM", None),
    ],
)
def test_the_first_rule_that_fits_makes_the_user(rules: tuple[str, ...], principal: str, user: str | None) -> None:
    """By the parts of the principal; whoever is no simple name afterwards, or fits no rule, is nobody."""
    assert LocalNames(rules, REALM).user_of(principal) == user


@pytest.mark.parametrize(
    "rule",
    [
        *("", "default", "RULE", "RULE:[1:$1", "RULE:[1:$1](a", "RULE:[1:$1](()", "RULE:[3:$1]", "RULE:[1:$2]"),
        *("RULE:[11111111111111111111:$1]", "RULE:[1:$1]s/a/b", "RULE:[1:$1]s/[/b/", "DEFAULT and more"),
        "RULE:[1:$99999999999999999999]",
    ],
)
def test_what_is_no_rule_is_refused(rule: str) -> None:
    """With the rule in the sentence."""
    with pytest.raises(RuleError):
        LocalNames([rule], REALM)


def test_an_expression_that_takes_for_ever_makes_no_user() -> None:
    """A principal that was made for it costs a moment, and lets nobody in."""
    assert LocalNames(["RULE:[1:$1]s/^(a|aa)+$/x/", "DEFAULT"], REALM).user_of("a" * 200 + "b@EXAMPLE.COM") is None
