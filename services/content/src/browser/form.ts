/**
 * Forms on a page: fields that depend on others, parts that follow each other, and sending without leaving the page. A form without this
 * script is all there, and is sent as any other.
 */

interface Answer {
  success: number;
  successMessage?: string;
  redirect?: string;
  download?: string;
  errorMessage?: string;
  validationErrors?: Record<string, string>;
}

/** The word of an installation stands in the names of its attributes: `data-svc-form`. */
const FORM = /^data-([a-z][a-z0-9]*)-form$/;

function wordOf(form: HTMLFormElement): string | undefined {
  for (const { name } of Array.from(form.attributes)) {
    const [, word] = FORM.exec(name) ?? [];
    if (word) return word;
  }
  return undefined;
}

for (const form of Array.from(document.forms)) {
  const word = wordOf(form);
  if (word && !form.hasAttribute("data-ready")) begin(form, word);
}

function begin(form: HTMLFormElement, word: string): void {
  form.setAttribute("data-ready", "");
  const name = form.getAttribute(`data-${word}-form`) ?? "";
  const all = (selector: string) => Array.from(form.querySelectorAll<HTMLElement>(selector));
  const input = (member: string) => form.elements.namedItem(`${word}form[${member}]`);
  const key = input("submissionKey");
  if (key instanceof HTMLInputElement && key.value === "") key.value = newKey();
  const back = input("return");
  if (back instanceof HTMLInputElement && back.value === "") back.value = location.href;
  const update = () => showFields(all, form, word);
  form.addEventListener("change", update);
  form.addEventListener("input", update);
  update();
  const pages = all(`[data-${word}-form-page]`);
  const turn = (index: number) => {
    for (const [at, page] of pages.entries()) page.hidden = at !== index;
    pages[index]?.querySelector<HTMLElement>("input,select,textarea,button")?.focus();
  };
  if (pages.length > 1) {
    for (const [index, page] of pages.entries()) {
      page.hidden = index !== 0;
      page.addEventListener("click", (event) => {
        const button = (event.target as Element).closest(`[data-${word}-form-pagebreak]`);
        const direction = button?.getAttribute(`data-${word}-form-pagebreak`);
        if (direction === "prev") turn(index - 1);
        if (direction === "next" && isComplete(page, word)) turn(index + 1);
      });
    }
  }
  for (const field of all(`[data-${word}-company-lookup]`))
    if (field instanceof HTMLInputElement) suggestCompanies(form, field);
  const say = (kind: "error" | "message", markup: string) => {
    const place = document.getElementById(`${word}form_${name}_${kind}`);
    if (place) place.innerHTML = markup;
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (form.getAttribute("aria-busy") === "true") return;
    form.setAttribute("aria-busy", "true");
    say("error", "");
    send(form)
      .then((answer) => {
        for (const error of all(`.${word}form-errormsg`)) error.style.display = "none";
        if (answer.success) {
          if ("overVideo" in document.documentElement.dataset) goOn(name);
          return succeed(form, answer, (markup) => say("message", markup));
        }
        // A corrected form is another submission.
        if (key instanceof HTMLInputElement) key.value = newKey();
        const errors = answer.validationErrors ?? {};
        const firstPage = showErrors(errors, { form, word, name, pages });
        if (firstPage !== undefined && pages.length > 1) turn(firstPage);
        say("error", text(answer.errorMessage ?? Object.values(errors).join(" ")));
      })
      .catch(() => say("error", text("This could not be sent. Please try again.")))
      .finally(() => form.removeAttribute("aria-busy"));
  });
}

async function send(form: HTMLFormElement): Promise<Answer> {
  const url = new URL(form.action);
  url.pathname = `${url.pathname.replace(/\/$/, "")}/ajax`;
  const answer = await fetch(url, { method: "POST", body: new FormData(form) });
  return answer.json();
}

/** Lets the page with the video know that the form was taken. Any site may show the form: it learns nothing that was typed. */
function goOn(formName: string): void {
  parent.postMessage(JSON.stringify({ success: 1, formName }), "*");
}

function succeed(
  form: HTMLFormElement,
  { redirect, download, successMessage }: Answer,
  say: (markup: string) => void,
): void {
  if (redirect) {
    if (download) fetchAside(download);
    setTimeout(() => location.assign(redirect), download ? DOWNLOAD_BEGINS_MS : 0);
    return;
  }
  if (download) location.assign(download);
  say(successMessage ?? "");
  form.reset();
  for (const part of Array.from(form.children))
    if (part instanceof HTMLElement && part.getAttribute("role") === null) part.hidden = true;
}

const LOOKUP_LENGTH_MIN = 3;
const LOOKUP_REST_MS = 400;

/** Suggests names of companies while one is typed. Only a page of the same origin may read them. */
function suggestCompanies(form: HTMLFormElement, field: HTMLInputElement): void {
  const { origin, searchParams } = new URL(form.action);
  if (self.origin !== origin) return;
  const list = document.createElement("datalist");
  list.id = `${field.id}_companies`;
  field.after(list);
  field.setAttribute("list", list.id);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const suggest = async () => {
    const search = field.value.trim();
    const answer = await fetch(`${origin}/form/company-lookup/autocomplete`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ search, formId: searchParams.get("formId") }),
    });
    if (!answer.ok || field.value.trim() !== search) return;
    const found: { companyname: string }[] = await answer.json();
    list.replaceChildren(...found.map(({ companyname }) => new Option(companyname, companyname)));
  };
  field.addEventListener("input", () => {
    clearTimeout(timer);
    if (field.value.trim().length < LOOKUP_LENGTH_MIN) return;
    timer = setTimeout(() => void suggest().catch(() => undefined), LOOKUP_REST_MS); // the form works without
  });
}

/** The page may be left once a download has begun. */
const DOWNLOAD_BEGINS_MS = 2_000;

/** Begins a download without leaving the page. */
function fetchAside(url: string): void {
  const frame = document.createElement("iframe");
  frame.hidden = true;
  frame.src = url;
  document.body.append(frame);
}

/** Shows what is wrong beside each field. Answers the part of the form with the first of them. */
function showErrors(
  errors: Record<string, string>,
  { form, word, name, pages }: { form: HTMLFormElement; word: string; name: string; pages: HTMLElement[] },
): number | undefined {
  let first: number | undefined;
  for (const alias of Object.keys(errors)) {
    const place = document.getElementById(`${word}form_error_${name}_${alias}`);
    const input = document.getElementById(`${word}form_input_${name}_${alias}`);
    if (place) {
      place.textContent = errors[alias] ?? "";
      place.style.display = "";
    }
    input?.setAttribute("aria-invalid", "true");
    if (first !== undefined) continue;
    first = Math.max(
      0,
      pages.findIndex((page) => page.contains(place ?? input)),
    );
    if (form.contains(input)) input?.focus();
  }
  return first;
}

/** Are all required fields of this part filled in? What is not is marked. */
function isComplete(page: HTMLElement, word: string): boolean {
  let isSo = true;
  for (const row of Array.from(page.querySelectorAll<HTMLElement>(`.${word}form-required`))) {
    if (row.hidden) continue;
    const inputs = Array.from(row.querySelectorAll<HTMLInputElement>("input,select,textarea"));
    const isFilled = inputs.some((input) =>
      input.type === "checkbox" || input.type === "radio" ? input.checked : input.value !== "",
    );
    const error = row.querySelector<HTMLElement>(`.${word}form-errormsg`);
    if (error) error.style.display = isFilled ? "none" : "";
    isSo = isSo && isFilled;
  }
  return isSo;
}

/** Fields that depend on another one are there while its value is one of theirs. */
function showFields(all: (selector: string) => HTMLElement[], form: HTMLFormElement, word: string): void {
  const data = new FormData(form);
  const valuesOf = (alias: string) =>
    [...data.getAll(`${word}form[${alias}]`), ...data.getAll(`${word}form[${alias}][]`)]
      .map(String)
      .filter(Boolean);
  for (const row of all(`[data-${word}-form-show-on]`)) {
    const [alias = "", wanted = ""] = (row.getAttribute(`data-${word}-form-show-on`) ?? "").split(/:(.*)/s);
    const values = valuesOf(alias);
    const isAmong =
      wanted === "*" ? values.length > 0 : values.some((value) => wanted.split("|").includes(value));
    const isShown =
      row.getAttribute(`data-${word}-form-expr`) === "notIn" && wanted !== "*" ? !isAmong : isAmong;
    row.hidden = !isShown;
    row.style.display = isShown ? "" : "none";
  }
}

function text(plain: string): string {
  const element = document.createElement("span");
  element.textContent = plain;
  return element.innerHTML;
}

function newKey(): string {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
}
