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
  const { question } = form.elements;
  const asked = question.value;
  const waiting = element("article", "card answer");
  const said = element("p", "said", "Searching …");
  waiting.append(element("h2", "", asked), said);
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
        const answer = page.body.firstElementChild;
        waiting.replaceWith(answer);
        const { answer: id } = answer.dataset;
        if (id) form.prepend(Object.assign(element("input"), { type: "hidden", name: "earlier", value: id }));
        if (id && question.value === asked) question.value = form.elements.options.value = "";
      }
    }
  } catch (error) {
    const known = error.message && error.hint !== undefined;
    waiting.replaceWith(failure(known ? error : { message: "The service does not answer.", hint: "Check that it runs, and ask again." }));
  } finally {
    button.disabled = false;
    question.focus();
  }
};

const asking = document.querySelector("form[data-ask]");
asking?.querySelector("[data-keys]").removeAttribute("hidden");
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

for (const form of document.querySelectorAll("form[method=post]:not([data-ask])")) {
  // The browser does not send the value of a disabled button, so it is disabled only after the form is sent.
  form.addEventListener("submit", ({ submitter }) => setTimeout(() => {
    submitter.disabled = true;
    submitter.textContent += " …";
  }));
}

const job = document.querySelector("[data-job]");
if (job) {
  const events = new EventSource(`/api/v1/jobs/${job.dataset.job}/events`);
  events.addEventListener("progress", ({ data }) => {
    const { state, progress: { done, total, cost_usd: cost, waiting_for: wait } } = JSON.parse(data);
    const named = job.querySelector("[data-state]");
    Object.assign(named, { textContent: state, className: `state ${state}` });
    const counts = [total ? `${done} of ${total}` : done && `${done} done`, cost && `$${cost.toFixed(4)}`, wait];
    job.querySelector("[data-counts]").textContent = counts.filter(Boolean).join(" · ");
    if (total) Object.assign(job.querySelector("progress"), { max: total, value: done });
  });
  events.addEventListener("end", () => {
    events.close();
    location.reload();
  });
}

const drop = document.querySelector("form[data-drop]");
for (const name of drop ? ["dragover", "drop"] : []) {
  document.addEventListener(name, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    drop.closest("details").open = true;
    if (name === "drop") drop.querySelector("input[type=file]").files = event.dataTransfer.files;
  });
}

const openTarget = () => {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  const line = target && target.closest("details");
  if (!line) return;
  for (let at = line; at; at = at.parentElement.closest("details")) at.open = true;
  line.scrollIntoView({ block: "start" });
};
addEventListener("hashchange", openTarget);
addEventListener("load", openTarget); // after the browser's own scrolling, which leaves the text of the line out of view
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
