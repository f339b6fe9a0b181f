"""The pages of the cluster, security and transactions, used."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from confluent_kafka import Producer
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from tests.browser.conftest import TOKEN
from tests.support.broker import BrokerProcess
from tests.support.browser import BrowserWindow
from tests.support.hanging import leave_hanging
from tests.support.waiting import eventually

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.timeout(300)]


def open_row(window: BrowserWindow, path: str, name: str) -> None:
    """Open what deletes the row of this name, once the broker has heard of it."""
    found: list[WebElement] = []

    def look() -> bool:
        window.open(path)
        found[:] = window.driver.find_elements(By.XPATH, f"//tr[th[normalize-space()='{name}']]//summary")
        return bool(found)

    eventually(look, f"{name} on {path}")
    found[0].click()


def test_the_cluster(window: BrowserWindow) -> None:
    """Brokers, directories and the quorum, on a page that keeps nobody out."""
    window.open("/cluster")
    window.wait_for("Metadata quorum")
    window.check_page("cluster")


def test_users_and_quotas(window: BrowserWindow) -> None:
    """A person makes a user and sets a quota for him, and deletes both."""
    window.open("/security/users")
    window.fill("User", "browser-user")
    window.fill("Password", "of no matter")
    window.fill("Once more", "of no matter")
    window.press("Set password")
    window.wait_for("user browser-user may log in by SCRAM-SHA-512")
    window.check_page("security-users")
    window.open("/security/quotas")
    window.field("User").send_keys("of this name")
    window.fill("User, by name", "browser-user")
    window.fill("Limit in a second", "1000000")
    window.press("Set quota")
    window.wait_for("user browser-user: producer_byte_rate is 1,000,000")
    window.check_page("security-quotas")
    open_row(window, "/security/quotas", "user browser-user")
    window.press("Delete this quota")
    window.wait_for("producer_byte_rate is no longer set")
    open_row(window, "/security/users", "browser-user")
    window.fill("Type browser-user to delete it", "browser-user")
    window.press("Delete user")
    window.wait_for("user browser-user is deleted")
    window.open("/security/acls")
    window.wait_for("without an authorizer")
    window.check_page("security-acls")


def test_logging_in_and_out(guarded_window: BrowserWindow) -> None:
    """Who has the token gets in by it, whoever has not sees nothing, and who has logged out is out."""
    window = guarded_window
    window.open("/groups")
    window.wait_for_path("/login")
    window.check_page("login")
    assert not window.driver.find_elements(By.CSS_SELECTOR, "nav a, header form"), "nothing to see, nothing to leave"
    field = "Token that the console printed at its start, or was given with --token-file"
    window.fill(field, "another")
    window.press("Log in")
    window.wait_for("this is not the token that the console was started with")
    window.check_page("login-refused")
    [refused] = window.complaints()
    assert "403" in refused
    window.fill(field, TOKEN)
    window.press("Log in")
    window.wait_for_path("/topics")
    window.press("Log out")
    window.wait_for_path("/login")
    window.open("/topics")
    window.wait_for_path("/login")


def test_acls(guarded_window: BrowserWindow) -> None:
    """A person makes an ACL, after one that is refused without losing what was typed, finds it and deletes it."""
    window = guarded_window
    window.open(f"/login?token={quote(TOKEN)}")
    window.wait_for_path("/topics")
    window.press("Security")
    window.wait_for("There is none.")
    window.fill("Principal", "browser")
    window.field("Permission").send_keys("deny")
    window.field("Operation").send_keys("write")
    window.fill("Its name (* for all; of the cluster none)", "orders-")
    window.field("The name is meant").send_keys("as a beginning")
    window.check_page("security-acl-new")
    window.press("Create ACL")
    window.wait_for("What was typed is still there")
    window.check_page("error")
    [refused] = window.complaints()
    assert "400" in refused
    window.driver.back()
    window.wait_for("New ACL")
    assert window.field("Its name (* for all; of the cluster none)").get_attribute("value") == "orders-"
    window.fill("Principal", "User:browser")
    window.press("Create ACL")
    window.wait_for("User:browser, deny write on topic orders-: set")
    open_row(window, "/security/acls?q=ORDERS", "User:browser")
    window.wait_for("and all that begin so")
    window.check_page("security-acls-set")
    window.press("Delete this ACL")
    window.wait_for("User:browser, deny write on topic orders-: deleted")


def test_a_transaction(window: BrowserWindow, broker: BrokerProcess, topic: str) -> None:
    """A person finds an open transaction and aborts it."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": f"browser-{topic}"})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, b"never counts")
    producer.flush(60)
    window.open(f"/transactions?q=browser-{topic}")
    window.wait_for("Ongoing")
    window.check_page("transactions")
    window.press(f"browser-{topic}")
    window.wait_for("Partitions that wait for its end")
    window.press("Abort this transaction")
    window.check_page("transaction")
    window.fill(f"Type browser-{topic} to abort it", f"browser-{topic}")
    window.press("Abort transaction")
    window.wait_for("its transaction is aborted")


def test_a_transaction_that_hangs(window: BrowserWindow, broker: BrokerProcess, topic: str) -> None:
    """A person looks at the producers of a topic, finds what hangs, and ends it."""
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce(topic, b"x", partition=0)
    producer.flush(60)
    leave_hanging(broker, topic, (1 << 41) + 9)
    window.open(f"/topics/{topic}/producers")
    window.wait_for(str((1 << 41) + 9))
    window.check_page("producers")
    window.field("Transactions").send_keys("open ones")
    window.press("Show")
    window.wait_for_path(f"/topics/{topic}/producers?partition=&open=1")
    window.wait_for(str((1 << 41) + 9))
    window.open("/transactions")
    window.press("hanging transactions")
    window.fill("Nothing written for longer than", "0s")
    window.fill("Only in the topic", topic)
    window.press("Find")
    window.wait_for(f"{topic}-0")
    window.check_page("hanging-transactions")
    window.press(f"{topic}-0")
    window.wait_for(f"Transaction that hangs in {topic}-0")
    window.check_page("hanging-transaction")
    window.fill(f"Type {topic}-0 to abort it", f"{topic}-0")
    window.press("Abort transaction")
    window.wait_for(f"in {topic}-0 is aborted")
