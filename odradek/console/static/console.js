// Forms that ask for a typed name: their button works once the name stands there. Without scripts the server asks.
"use strict";

document.addEventListener("input", (event) => {
  const field = event.target.closest("[data-typed]");
  if (field) {
    field.form.querySelector("button").disabled = field.value !== field.dataset.typed;
  }
});
document.querySelectorAll("[data-typed]").forEach((field) => {
  field.form.querySelector("button").disabled = field.value !== field.dataset.typed;
});

// Records as they come: the newest on top, the last 200 are kept.
const KEPT = 200;

document.querySelectorAll("[data-tail]").forEach((place) => {
  const state = place.querySelector("[data-tail-state]");
  const rows = place.querySelector("[data-tail-rows]");
  const stop = place.querySelector("[data-tail-stop]");
  let source = null;
  let seen = 0;
  let leftOut = 0;

  function told() {
    const more = leftOut ? `, ${leftOut} more left out because they came too fast` : "";
    return `${seen} records${more}.`;
  }
  function end(sentence) {
    source.close();
    source = null;
    stop.textContent = "Go on";
    state.textContent = `${sentence} ${told()}`;
  }
  function begin() {
    source = new EventSource(place.dataset.tail);
    stop.textContent = "Stop";
    source.addEventListener("open", () => { state.textContent = `Waiting for records. ${told()}`; });
    source.addEventListener("records", (event) => {
      const step = JSON.parse(event.data);
      const made = document.createElement("template");
      made.innerHTML = step.markup; // made by the console's templates, which escape all that is in a record
      rows.prepend(made.content);
      while (rows.childElementCount > KEPT) {
        rows.lastElementChild.remove();
      }
      seen += step.count;
      leftOut += step.left_out;
      state.textContent = told();
    });
    source.addEventListener("end", (event) => end(JSON.parse(event.data).sentence));
    source.onerror = () => {
      if (source && source.readyState === EventSource.CLOSED) {
        end("The console does not answer.");
      }
    };
  }
  stop.addEventListener("click", () => {
    if (source) {
      end("Stopped.");
    } else {
      begin();
    }
  });
  begin();
});
