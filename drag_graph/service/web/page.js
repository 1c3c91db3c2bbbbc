// What scripts add to pages that work without them: streamed answers, progress of jobs, files that are dropped.

const eventsOf = async function* (response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const found = /^event: (.*)\ndata: (.*)$/.exec(block);
      if (found) yield [found[1], JSON.parse(found[2])];
    }
  }
};

const element = (name, className, text = "") => Object.assign(document.createElement(name), { className, textContent: text });

const failure = ({ message, hint }) => {
  const box = element("div", "card");
  box.append(element("p", "bad", message), element("p", "", hint));
  return box;
};

const ask = async (form) => {
  const answers = document.querySelector("#answers");
  const button = form.querySelector("button");
  const waiting = element("article", "card answer");
  const said = element("p", "said", "Searching …");
  waiting.append(element("h2", "", form.elements.question.value), said);
  answers.prepend(waiting);
  button.disabled = true;
  let hasText = false;
  try {
    const response = await fetch(form.action, {
      method: "POST", body: new URLSearchParams(new FormData(form)), headers: { Accept: "text/event-stream" },
    });
    if (!response.ok) throw (await response.json()).error;
    for await (const [name, data] of eventsOf(response)) {
      if (name === "error") throw data.error;
      if (name === "token") {
        said.textContent = hasText ? said.textContent + data.text : data.text;
        hasText = true;
      }
      if (name === "answer") {
        // Rendered and escaped by our own server.
        const page = new DOMParser().parseFromString(data.html, "text/html");
        waiting.replaceWith(...page.body.children);
      }
    }
    form.elements.question.value = "";
  } catch (error) {
    const known = error.message && error.hint !== undefined;
    waiting.replaceWith(failure(known ? error : { message: "The service does not answer.", hint: "Check that it runs, and ask again." }));
  } finally {
    button.disabled = false;
    form.elements.question.focus();
  }
};

const asking = document.querySelector("form[data-ask]");
asking?.addEventListener("submit", (event) => {
  event.preventDefault();
  ask(asking);
});
asking?.elements.question.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    asking.requestSubmit();
  }
});

const job = document.querySelector("[data-job]");
if (job) {
  const events = new EventSource(`/api/v1/jobs/${job.dataset.job}/events`);
  events.addEventListener("progress", ({ data }) => {
    const { state, progress } = JSON.parse(data);
    const bar = job.querySelector("progress");
    job.querySelector("[data-state]").textContent = state;
    if (progress.total) Object.assign(bar, { max: progress.total, value: progress.done });
  });
  events.addEventListener("end", () => {
    events.close();
    location.reload();
  });
}

const drop = document.querySelector("form[data-drop]");
for (const name of ["dragover", "drop"]) {
  drop?.addEventListener(name, (event) => {
    event.preventDefault();
    if (name === "drop") drop.querySelector("input[type=file]").files = event.dataTransfer.files;
  });
}

const openTarget = () => {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  const line = target && target.closest("details.line");
  if (!line) return;
  for (let at = line; at; at = at.parentElement.closest("details")) at.open = true;
  line.scrollIntoView({ block: "start" });
};
addEventListener("hashchange", openTarget);
openTarget();
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
