// The page of `foreword serve`: plain JavaScript, no build, nothing from elsewhere. A tab is there if some model has its ability.

const $ = (where, one) => where.querySelector(one);
const make = (tag, text = "", set = {}) => Object.assign(document.createElement(tag), { textContent: text, ...set });
let models = [];

// ------------------------------------------------------------------------------------------------------- the server

class Refused extends Error {}

async function ask(path, body, signal) {
  const headers = { "content-type": "application/json" };
  const key = sessionStorage.getItem("key");
  if (key) headers.authorization = `Bearer ${key}`;
  let answer;
  try {
    answer = await fetch(path, body ? { method: "POST", headers, body: JSON.stringify(body), signal } : { headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The server is gone. Start it again, then try once more.");
  }
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  if (answer.status === 401) {
    $(document, "#key-form").hidden = false;
    $(document, "#key").focus();
  }
  throw new Refused(said.error?.message ?? `The server answered ${answer.status}.`);
}

const post = async (path, body) => (await ask(path, body)).json();

async function* stream(path, body, signal) {
  const reader = (await ask(path, { ...body, stream: true }, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let whole = false;
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const events = (rest + value).split("\n\n");
      rest = events.pop();
      for (const event of events) {
        const said = event.replace(/^data: /, "");
        whole ||= said === "[DONE]";
        if (whole) continue;
        const piece = JSON.parse(said);
        if (piece.error) throw new Refused(piece.error.message);
        yield piece;
      }
    }
  } catch (error) {
    if (error instanceof Refused || error.name === "AbortError") throw error;
  }
  if (!whole) throw new Refused("The server is gone in the middle of its answer.");
}

// ------------------------------------------------------------------------------------------------------- every panel

function say(panel, text, wrong = false) {
  const status = $(panel, ".status");
  status.textContent = text;
  status.classList.toggle("wrong", wrong);
}

/** Run what a panel does when its form is sent: one at a time, its state said, its errors shown. */
function onSend(panel, work, busy) {
  const form = $(panel, "form");
  const stop = $(panel, ".stop");
  let running = null;
  stop?.addEventListener("click", () => running?.abort());
  const run = async () => {
    running?.abort();
    const mine = (running = new AbortController());
    const send = $(form, "button:not([type])");
    panel.setAttribute("aria-busy", "true");
    if (stop) stop.disabled = false; else send.disabled = true;
    say(panel, busy);
    try {
      say(panel, (await work(new FormData(form), mine.signal)) ?? "");
    } catch (error) {
      if (running !== mine) return;
      if (error.name === "AbortError") say(panel, "Stopped.");
      else say(panel, error instanceof Refused ? error.message : `The page failed: ${error.message}`, true);
    } finally {
      if (running === mine) {
        panel.removeAttribute("aria-busy");
        if (stop) stop.disabled = true; else send.disabled = false;
      }
    }
  };
  form.addEventListener("submit", (event) => { event.preventDefault(); run(); });
  return run;
}

function sampling(data) {
  const found = {};
  for (const name of ["max_tokens", "temperature", "top_p", "seed"]) {
    if (data.get(name)) found[name] = Number(data.get(name));
  }
  return found;
}

function token(text, share, note, gain = false) {
  const found = make("span", text, { className: gain ? "token gain" : "token", title: note });
  found.style.setProperty("--share", share.toFixed(3));
  return found;
}

const percent = (share) => (share >= 0.0995 ? `${(100 * share).toFixed(0)}%` : `${(100 * share).toPrecision(2)}%`);

function table(heads, rows) {
  const found = make("table");
  const top = found.createTHead().insertRow();
  for (const [head, number] of heads) top.append(make("th", head, { className: number ? "number" : "", scope: "col" }));
  const body = found.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    row.forEach((cell, place) => line.append(make("td", cell, { className: heads[place][1] ? "number" : "" })));
  }
  const scroll = make("div", "", { className: "scroll", tabIndex: 0 });
  scroll.setAttribute("role", "group");
  scroll.setAttribute("aria-label", heads.map(([head]) => head).join(", "));
  scroll.append(found);
  return scroll;
}

// ------------------------------------------------------------------------------------------------------------- Write

function setUpWrite(panel) {
  const out = $(panel, ".text");
  const others = $(panel, ".others");
  const prompt = $(panel, "[name=prompt]");
  const run = onSend(panel, async (data, signal) => {
    others.hidden = true;
    const begun = make("span", prompt.value);
    out.replaceChildren(begun);
    $(panel, ".legend").hidden = false;
    const texts = [];
    const body = { model: data.get("model"), prompt: prompt.value, logprobs: 8, ...sampling(data) };
    let reason = "";
    for await (const piece of stream("v1/completions", body, signal)) {
      const [choice] = piece.choices;
      const said = choice.logprobs;
      reason = choice.finish_reason ?? reason;
      const before = prompt.value.slice(0, begun.textContent.length) + texts.join("");
      texts.push(choice.text);
      if (!said.tokens.length) continue;
      const share = Math.exp(said.token_logprobs[0]);
      const one = token(choice.text, 0.65 * (1 - share), percent(share));
      const button = make("button", "", { className: "token", type: "button", title: one.title });
      button.textContent = choice.text;
      button.style.setProperty("--share", one.style.getPropertyValue("--share"));
      button.setAttribute("aria-expanded", "false");
      button.addEventListener("click", () => show(button, before, said));
      if (choice.text) out.append(button);
    }
    return `${texts.length} tokens; ${reason === "stop" ? "the model ended the text" : "that is as many as were asked for"}.`;
  }, "Writing …");

  function show(button, before, said) {
    for (const one of out.querySelectorAll("[aria-expanded=true]")) one.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-expanded", "true");
    others.replaceChildren(make("span", "Go on from here with: "));
    for (const [text, log] of Object.entries(said.top_logprobs[0])) {
      const one = make("button", `${JSON.stringify(text).slice(1, -1).replaceAll(" ", "␣")} ${percent(Math.exp(log))}`, { type: "button" });
      one.disabled = text.startsWith("bytes:");
      one.addEventListener("click", () => { prompt.value = before + text; run(); });
      others.append(one);
    }
    others.hidden = false;
    $(others, "button")?.focus();
  }
}

// -------------------------------------------------------------------------------------------------------------- Read

const shade = (bits) => Math.min(bits / 16, 1) * 0.75;

/** Bits spread evenly over the characters of each token. */
function byCharacter(each) {
  return each.flatMap((one) => Array.from(one.text, () => (one.bits ?? 0) / Math.max(Array.from(one.text).length, 1)));
}

function setUpRead(panel) {
  const out = $(panel, ".columns");
  onSend(panel, async (data) => {
    const text = data.get("text");
    if (!text.trim()) { out.replaceChildren(); return "There is no text yet: paste one above."; }
    const names = [data.get("model"), data.get("second")].filter((one, place, all) => one && all.indexOf(one) === place);
    const found = await Promise.all(names.map(async (model) => (await post("v1/foreword/score", { model, text })).scores[0]));
    out.replaceChildren(...found.map((score, place) => {
      const column = make("div");
      const all = score.bits_per_byte === null ? `${score.bits_per_token.toFixed(3)} bits per token (its tokens lose some of the text)`
        : `${score.bits_per_byte.toFixed(3)} bits per byte`;
      column.append(make("h2", names[place]), make("p", `${all}, ${score.tokens} tokens, ${score.bytes} bytes`, { className: "note" }));
      const map = make("div", "", { className: "text" });
      map.append(...score.each.map((one) => token(one.text, one.bits === null ? 0 : shade(one.bits),
        one.bits === null ? "given" : `${one.bits.toFixed(2)} bits${one.rank ? `, rank ${one.rank}` : ""}`)));
      column.append(map);
      return column;
    }));
    if (found.length === 2) out.append(difference(text, names, found));
    return names.length === 2 ? "The stronger the colour, the more bits a token cost." : "The stronger the colour, the more bits a token cost. Choose a second model to see where one beats the other.";
  }, "Reading …");
}

function difference(text, names, found) {
  const [first, second] = found.map((score) => byCharacter(score.each));
  const column = make("div");
  column.append(make("h2", "Where one beats the other"),
    make("p", `Blue: ${names[0]} guessed better. Orange: ${names[1]} did.`, { className: "note" }));
  const map = make("div", "", { className: "text" });
  let at = 0;
  for (const word of text.match(/\s*\S+|\s+$/g) ?? []) {
    const size = Array.from(word).length;
    let gap = 0;
    for (let i = at; i < at + size; i++) gap += (second[i] ?? 0) - (first[i] ?? 0);
    at += size;
    map.append(token(word, Math.min(Math.abs(gap) / 12, 1) * 0.75, `${Math.abs(gap).toFixed(1)} bits better for ${gap > 0 ? names[0] : names[1]}`, gap > 0));
  }
  column.append(map);
  return column;
}

// -------------------------------------------------------------------------------------------------------------- Chat

function setUpChat(panel) {
  const list = $(panel, ".turns");
  const field = $(panel, "[name=said]");
  let turns = [];
  $(panel, ".reset").addEventListener("click", () => {
    turns = [];
    list.replaceChildren();
    say(panel, "Nothing has been said yet.");
    field.focus();
  });
  onSend(panel, async () => {
    const said = field.value.trim();
    if (!said) return "Say something first.";
    const asked = [...turns, said];
    const backward = $(panel, "[name=backward]").value;
    const body = { model: $(panel, "[name=model]").value, turns: asked, backward, n: Number($(panel, "[name=n]").value), seed: asked.length };
    const answer = await post("v1/foreword/candidates", body);
    const [best] = answer.candidates;
    const mine = make("li", said, { className: "mine" });
    const reply = make("li");
    reply.append(make("div", best.text || "(it says nothing)"));
    const unfold = make("details");
    const number = (value) => (value === null ? "–" : value.toFixed(2));
    unfold.append(make("summary", `chosen from ${answer.candidates.length} different replies; it saw ${answer.seen} turns`),
      table([["reply"], ["drawn", 1], ["forward", 1], ["backward", 1], ["score", 1]],
        answer.candidates.map((one) => [one.text, `${one.times}`, number(one.forward), number(one.backward), backward ? number(one.score) : "–"])));
    reply.append(unfold);
    list.append(mine, reply);
    turns = best.text ? [...asked, best.text] : asked;
    field.value = "";
    field.focus();
  }, "Thinking …");
}

// -------------------------------------------------------------------------------------------------------------- Fill

function setUpFill(panel) {
  const text = $(panel, "[name=text]");
  const words = $(panel, ".words");
  const spread = () => words.replaceChildren(...(text.value.match(/\w+|[^\w\s]/gu) ?? []).map((word) => {
    const one = make("button", word, { type: "button" });
    one.setAttribute("aria-pressed", "false");
    one.addEventListener("click", () => one.setAttribute("aria-pressed", `${one.getAttribute("aria-pressed") === "false"}`));
    return one;
  }));
  text.addEventListener("input", spread);
  spread();
  const out = $(panel, ".columns");
  onSend(panel, async (data) => {
    const buttons = [...words.children];
    const hidden = buttons.filter((one) => one.getAttribute("aria-pressed") === "true").map((one) => one.textContent);
    if (!hidden.length) return "Hide a word first: choose it above.";
    const mask = models.find((one) => one.id === data.get("model")).mask;
    let place = 0;
    const gapped = text.value.replace(/\w+|[^\w\s]/gu, (word) => (buttons[place++].getAttribute("aria-pressed") === "true" ? mask : word));
    const { gaps } = await post("v1/foreword/fill", { model: data.get("model"), text: gapped, k: 8 });
    out.replaceChildren(...gaps.map((gap, number) => {
      const column = make("div");
      column.append(make("h2", `instead of “${hidden[number]}”`),
        table([["guess"], ["probability", 1]], gap.map((one) => [one.token, percent(one.probability)])));
      return column;
    }));
  }, "Guessing …");
}

// ------------------------------------------------------------------------------------------------------------ others

function setUpCompare(panel) {
  const able = models.filter((one) => one.abilities.includes("generate"));
  $(panel, ".checks").append(...able.map((one, place) => {
    const label = make("label");
    label.append(make("input", "", { type: "checkbox", name: "models", value: one.id, checked: place < 4 }), one.id);
    return label;
  }));
  const out = $(panel, ".columns");
  onSend(panel, async (data, signal) => {
    const chosen = data.getAll("models");
    if (!chosen.length) return "Choose at least one model.";
    out.replaceChildren();
    const ends = await Promise.allSettled(chosen.map(async (model) => {
      const column = make("div");
      const text = make("div", data.get("prompt"), { className: "text" });
      column.append(make("h2", model), text);
      out.append(column);
      for await (const piece of stream("v1/completions", { model, prompt: data.get("prompt"), ...sampling(data) }, signal)) {
        text.append(piece.choices[0].text);
      }
    }));
    const failed = ends.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
  }, "Writing …");
}

function setUpTranslate(panel) {
  onSend(panel, async (data) => {
    if (!data.get("text").trim()) return "There is nothing to translate yet.";
    const body = { model: data.get("model"), text: data.get("text"), beam: Number(data.get("beam")) };
    const { texts } = await post("v1/foreword/translate", body);
    $(panel, ".text").textContent = texts[0];
    return texts[0] ? "" : "The model wrote nothing.";
  }, "Translating …");
}

function setUpClassify(panel) {
  const model = $(panel, "[name=model]");
  const tasks = () => {
    const there = models.find((one) => one.id === model.value)?.tasks ?? [];
    $(panel, "[name=task]").replaceChildren(...there.map((one) => make("option", one.name, { value: one.name })));
    $(panel, "[name=task]").parentElement.hidden = there.length < 2;
  };
  model.addEventListener("change", tasks);
  tasks();
  onSend(panel, async (data) => {
    if (!data.get("text").trim()) return "There is no text yet.";
    const about = models.find((one) => one.id === data.get("model"));
    const kinds = (about.tasks.find((one) => one.name === data.get("task")) ?? about.tasks[0])?.kinds ?? [];
    const route = kinds.includes("tag") ? "tag" : kinds.includes("span") ? "answer" : "classify";
    const text = data.get("second").trim() ? [data.get("text"), data.get("second")] : data.get("text");
    const body = { model: data.get("model"), texts: [text], task: data.get("task") ?? "" };
    const [answer] = (await post(`v1/foreword/${route}`, body)).answers;
    const out = $(panel, ".text");
    if (Array.isArray(answer.answer)) out.replaceChildren(table([["word"], ["tag"]], answer.words.map((word, place) => [word, answer.answer[place] ?? ""])));
    else {
      out.replaceChildren(make("h2", `${answer.answer}` || "no answer"));
      if (answer.scores) out.append(table([["label"], ["probability", 1]], Object.entries(answer.scores).sort((a, b) => b[1] - a[1]).map(([label, share]) => [label, percent(share)])));
    }
  }, "Asking …");
}

function setUpNeighbours(panel) {
  onSend(panel, async (data) => {
    if (!data.get("word").trim()) return "Give a word.";
    const { neighbours } = await post("v1/foreword/neighbours", { model: data.get("model"), word: data.get("word").trim(), k: 15 });
    const column = make("div");
    column.append(table([["neighbour"], ["cosine", 1]], neighbours.map((one) => [one.word, one.cosine.toFixed(3)])));
    $(panel, ".columns").replaceChildren(column);
  }, "Looking …");
}

// -------------------------------------------------------------------------------------------------------------- tabs

const SET_UP = { write: setUpWrite, read: setUpRead, chat: setUpChat, fill: setUpFill, compare: setUpCompare,
  translate: setUpTranslate, classify: setUpClassify, neighbours: setUpNeighbours };

const able = (abilities) => models.filter((one) => abilities.split(" ").some((ability) => one.abilities.includes(ability)));

function choose(tab) {
  for (const one of $(document, "#tabs").children) {
    const chosen = one === tab;
    one.setAttribute("aria-selected", `${chosen}`);
    one.tabIndex = chosen ? 0 : -1;
    $(document, `#${one.getAttribute("aria-controls")}`).hidden = !chosen;
  }
  history.replaceState(null, "", `#${tab.getAttribute("aria-controls")}`);
}

function buildTabs() {
  const bar = $(document, "#tabs");
  for (const panel of document.querySelectorAll("main > section")) {
    const there = able(panel.dataset.ability);
    if (there.length < Number(panel.dataset.least ?? 1)) continue;
    for (const select of panel.querySelectorAll("select")) {
      const choices = select.dataset.ability ? able(select.dataset.ability) : there;
      if (select.dataset.none) select.append(make("option", select.dataset.none, { value: "" }));
      select.append(...choices.map((one) => make("option", one.id, { value: one.id })));
    }
    const tab = make("button", panel.dataset.title, { id: `tab-${panel.id}`, type: "button" });
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panel.id);
    panel.setAttribute("aria-labelledby", tab.id);
    tab.addEventListener("click", () => choose(tab));
    bar.append(tab);
    SET_UP[panel.id](panel);
  }
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const tabs = [...bar.children];
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    choose(next);
    next.focus();
  });
  const wanted = $(document, `#tab-${location.hash.slice(1) || "none"}`) ?? bar.firstElementChild;
  if (wanted) choose(wanted);
}

async function begin() {
  const served = $(document, "#served");
  try {
    models = (await (await ask("v1/models")).json()).data;
    served.classList.remove("wrong");
    served.textContent = models.map((one) => one.id).join(", ");
    $(document, "#key-form").hidden = true;
    if (!$(document, "#tabs").children.length) buildTabs();
  } catch (error) {
    served.textContent = error.message;
    served.classList.add("wrong");
  }
}

$(document, "#key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("key", $(document, "#key").value);
  begin();
});
begin();
