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

// A menu closes as its visitor goes on.
document.addEventListener("click", ({ target }) => {
  for (const menu of document.querySelectorAll(".share[open]")) menu.open = menu.contains(target);
});
document.addEventListener("keydown", ({ key }) => {
  const menu = key === "Escape" && document.querySelector(".share[open]");
  if (!menu) return;
  menu.open = false;
  menu.firstElementChild.focus();
});

for (const field of document.querySelectorAll("form.ask textarea")) {
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      field.form.requestSubmit();
    }
  });
}

// A mark shows which source it names.
for (const [name, names] of [["mouseover", true], ["mouseout", false], ["focusin", true], ["focusout", false]]) {
  document.addEventListener(name, ({ target }) => {
    if (target.matches(".cite")) document.querySelector(target.hash)?.classList.toggle("cites", names);
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

const QUIET = 40000; // ms: a stream that lives says something every 15 s
// Before a broken stream is asked for again; after the last, only who reads the page may ask.
const PAUSES = [1000, 2000, 5000, 10000, 30000, 30000, 30000];

// What takes long is told as its steps begin, and the outcome takes its place on the page.
// Returns whether the stream came to its end, or cannot.
async function follow(place, address, options) {
  let ended = false;
  const take = (name, data) => {
    ended = ended || name !== "step";
    tell(name === "failed" ? [data.message, data.fix].filter(Boolean).join(" ") : data.says || "");
    if (name === "done") {
      place.innerHTML = data.html; // rendered by this server, which escapes what others wrote
      offerButtons(place);
    }
  };
  // A network that went away while a phone slept may never say so.
  const quiet = new AbortController();
  let heard = Date.now();
  const watch = setInterval(() => Date.now() - heard > QUIET && quiet.abort(), 1000);
  try {
    const response = await fetch(address, {
      ...options, signal: quiet.signal, headers: { Accept: "text/event-stream" },
    });
    // Who sent a form is told why it is refused.
    if (!options && (response.status === 429 || response.status >= 500)) return false;
    if (!response.ok) {
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      tell(page.querySelector("main").textContent.trim());
      return true;
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return ended;
      heard = Date.now();
      const events = (rest + value).split("\n\n");
      rest = events.pop();
      for (const event of events) {
        const found = /^event: (\w+)\ndata: (.*)$/.exec(event);
        if (found) take(found[1], JSON.parse(found[2]));
      }
    }
  } catch {
    return ended;
  } finally {
    clearInterval(watch);
  }
}

// Who comes back to the page, or into the network, waits no longer.
function until(milliseconds) {
  const over = new AbortController(); // takes the listeners away, however the wait ends
  return new Promise((go) => {
    setTimeout(go, milliseconds);
    window.addEventListener("online", go, { signal: over.signal });
    document.addEventListener("visibilitychange", () => document.hidden || go(), { signal: over.signal });
  }).finally(() => over.abort());
}

function offerToAskAgain(place) {
  const link = document.createElement("a");
  link.href = location.href;
  link.textContent = place.dataset.again;
  tell(`${place.dataset.lost} `);
  progress.append(link);
}

// Asks again where the stream breaks; returns what the last one returned.
async function followAgain(place, address, broken, options) {
  for (const pause of PAUSES) {
    if (await follow(place, address, options)) return true;
    tell(broken);
    await until(pause);
  }
  return follow(place, address, options);
}

async function followToTheEnd(place) {
  const { stream, broken } = place.dataset;
  if (!(await followAgain(place, stream, broken))) offerToAskAgain(place);
  // What could not be judged does not say for ever that it is being judged.
  const heading = place.querySelector("[data-unjudged]");
  if (heading) heading.textContent = heading.dataset.unjudged;
  place.removeAttribute("aria-busy");
}
document.querySelectorAll("[data-stream]").forEach(followToTheEnd);

for (const form of document.querySelectorAll("form[data-live]")) {
  const place = document.querySelector(form.dataset.live);
  const button = form.querySelector("button[type=submit]");
  const stop = document.querySelector(".stop");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    place.replaceChildren();
    place.setAttribute("aria-busy", "true");
    tell(form.dataset.busy);
    button.disabled = true;
    const body = new URLSearchParams(new FormData(form));
    const back = new URL(form.action);
    body.forEach((value, name) => back.searchParams.set(name, value));
    stop.href = back;
    const { again, broken, failed, label } = form.dataset;
    if (!(await followAgain(place, form.action, broken, { method: "POST", body }))) tell(failed);
    button.disabled = false;
    button.textContent = place.innerHTML ? again : label;
    for (const busy of [form, place]) busy.removeAttribute("aria-busy");
  });
}
