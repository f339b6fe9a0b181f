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
