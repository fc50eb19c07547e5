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

// On a narrow screen the pages are listed in a row that may be longer than the screen.
document.querySelector(".top nav [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });

for (const field of document.querySelectorAll("form.ask textarea")) {
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      field.form.requestSubmit();
    }
  });
}

function offerButtons(within) {
  for (const button of within.querySelectorAll("[data-share]")) {
    if (!navigator.share) continue;
    button.hidden = false;
    button.addEventListener("click", () => {
      // Who changes their mind has shared nothing, and is told nothing.
      navigator.share({ title: button.dataset.title, url: button.dataset.share }).catch(() => {});
    });
  }
  for (const button of within.querySelectorAll("[data-copy]")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = button.dataset.done;
    });
  }
}
offerButtons(document);

const progress = document.getElementById("progress");

function tell(text) {
  progress.textContent = text;
  progress.hidden = !text;
}

// What takes long is told as its steps begin, and the outcome takes its place on the page.
async function follow(place, address, options) {
  const take = (name, data) => {
    tell(name === "failed" ? [data.message, data.fix].filter(Boolean).join(" ") : data.says || "");
    if (name === "done") {
      place.innerHTML = data.html; // rendered by this server, which escapes what others wrote
      offerButtons(place);
    }
  };
  const read = async (response) => {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const events = (rest + value).split("\n\n");
      rest = events.pop();
      for (const event of events) {
        const found = /^event: (\w+)\ndata: (.*)$/.exec(event);
        if (found) take(found[1], JSON.parse(found[2]));
      }
    }
  };
  const response = await fetch(address, { ...options, headers: { Accept: "text/event-stream" } });
  if (response.ok) await read(response);
  else {
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    tell(page.querySelector("main").textContent.trim());
  }
}

for (const place of document.querySelectorAll("[data-stream]")) {
  follow(place, place.dataset.stream)
    .catch(() => tell(place.dataset.failed))
    .finally(() => place.removeAttribute("aria-busy"));
}

for (const form of document.querySelectorAll("form[data-live]")) {
  const place = document.querySelector(form.dataset.live);
  const button = form.querySelector("button[type=submit]");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    place.replaceChildren();
    tell(form.dataset.busy);
    button.disabled = true;
    try {
      await follow(place, form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    } catch {
      tell(form.dataset.failed);
    } finally {
      button.disabled = false;
      button.textContent = form.dataset.label;
      form.removeAttribute("aria-busy");
    }
  });
}
