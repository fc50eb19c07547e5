// What the page does beyond links and forms. Without it everything still works.
"use strict";

for (const form of document.querySelectorAll("form[data-busy]")) {
  const button = form.querySelector("button[type=submit]");
  const label = button.textContent;
  form.addEventListener("submit", () => {
    button.textContent = form.dataset.busy;
    form.setAttribute("aria-busy", "true");
  });
  // A page that comes back from the browser's memory is not busy any more.
  window.addEventListener("pageshow", () => {
    button.textContent = label;
    form.removeAttribute("aria-busy");
  });
}

for (const field of document.querySelectorAll("form.ask textarea")) {
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      field.form.requestSubmit();
    }
  });
}

for (const button of document.querySelectorAll("[data-share]")) {
  if (!navigator.share) continue;
  button.hidden = false;
  button.addEventListener("click", () => {
    // Who changes their mind has shared nothing, and is told nothing.
    navigator.share({ title: button.dataset.title, url: button.dataset.share }).catch(() => {});
  });
}

for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = button.dataset.done;
  });
}
