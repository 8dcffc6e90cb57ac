import {
  CONSENT,
  consent,
  DEVICE,
  isKeepingAllowed,
  isRefusing,
  isSendingAllowed,
  keep,
  kept,
  needDevice,
  prefix,
  served,
  url,
} from "./visitor.ts";

/** An item as `focus-script.ts` prepares it: everything it says is harmless where it is put. */
interface Item {
  id: number;
  name: string;
  style: "bar" | "modal" | "notification" | "page";
  placement: string;
  colors: { primary: string; text: string; button: string; buttonText: string };
  headline: string;
  tagline: string;
  link: { url: string; text: string } | null;
  /** Parameters for the addresses of its links. */
  utm: [name: string, value: string][];
  isNewWindow: boolean;
  html: string | null;
  form: string | null;
  /** Milliseconds until it is shown to somebody again; null for never. */
  pauseMs: number | null;
  /** The part of the page that has to be scrolled by; null where scrolling does not matter. */
  scrolled: number | null;
  isOnLeaving: boolean;
  delayMs: number;
}

/** The item of the script that is served: the text around this one gives it. */
declare const ITEM: Item;

const KEY = `${prefix}_focus_${ITEM.id}`;

/** When it was shown last. A visitor who may not be recognised sees it again. */
function remembered(): number {
  return isKeepingAllowed(kept(CONSENT)) ? Number(kept(KEY)) : 0;
}

function remember(): void {
  if (isKeepingAllowed(kept(CONSENT))) keep(KEY, String(Date.now()));
}

/** Reports to the public web that the item was seen, or a link in it followed. The report has what `mtc.js` sends of the visitor, and no more. */
function report(type: "view" | "click"): void {
  const decision = kept(CONSENT);
  if (!isSendingAllowed(decision)) return;
  const sent = new URLSearchParams({ focus: String(ITEM.id), type, page_url: location.href });
  if (served) sent.set("hit", served);
  if (consent === "required") sent.set("consent", "1");
  if (isRefusing) sent.set("do_not_track", "true");
  if (isKeepingAllowed(decision)) {
    needDevice();
    const device = kept(DEVICE);
    if (device) sent.set(DEVICE, device);
  }
  navigator.sendBeacon(`${url}/focus/event`, sent);
}

/** Links say by which campaign their visitors come. */
function markLinks(box: HTMLElement): void {
  for (const link of box.querySelectorAll<HTMLAnchorElement>("a[href]")) {
    if (ITEM.utm.length === 0 || !/^https?:/.test(link.protocol)) continue;
    const target = new URL(link.href);
    for (const [name, value] of ITEM.utm) target.searchParams.set(name, value);
    link.href = target.href;
  }
}

function onClick({ target, button }: MouseEvent): void {
  // The right button opens a menu.
  if (button !== 2 && target instanceof Element && target.closest("a[href]")) report("click");
}

function isDue({ pauseMs }: Item): boolean {
  const last = remembered();
  return !last || (pauseMs !== null && Date.now() - last >= pauseMs);
}

function element(
  name: string,
  attributes: Record<string, string>,
  ...children: (Node | string)[]
): HTMLElement {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
}

function markup(html: string): HTMLElement {
  const made = element("div", {});
  made.innerHTML = html;
  return made;
}

/** The page around it and its styles have nothing to do with what is shown. */
function stylesOf({ placement, style, colors }: Item): string {
  const [vertical] = placement.split("_");
  const edge = vertical === "bottom" ? "bottom" : "top";
  const side = placement.endsWith("left") ? "left" : "right";
  const places = {
    bar: `${edge}: 0; left: 0; right: 0; padding: 0.75rem 3rem; text-align: center;`,
    modal:
      "left: 50%; top: 50%; transform: translate(-50%, -50%); width: min(32rem, 90vw); max-height: 90vh;",
    notification: `${side}: 1rem; ${edge}: 1rem; width: min(22rem, 90vw); max-height: 90vh;`,
    page: "inset: 0; display: grid; place-content: center; text-align: center;",
  };
  return `:host { all: initial; }
.box { position: fixed; z-index: 2147483647; box-sizing: border-box; overflow: auto; padding: 1.5rem 3rem 1.5rem 1.5rem;
font: 1rem/1.4 system-ui, sans-serif; background: ${colors.primary}; color: ${colors.text}; ${places[style]} }
.headline { font-size: 1.3rem; font-weight: bold; margin: 0 0 0.5rem; } .tagline { margin: 0 0 0.75rem; }
.link { display: inline-block; padding: 0.5rem 1rem; text-decoration: none; background: ${colors.button}; color: ${colors.buttonText}; }
.close { position: absolute; top: 0.5rem; right: 0.5rem; width: 2rem; height: 2rem; border: 0; font-size: 1.3rem;
background: none; color: inherit; cursor: pointer; }`;
}

function contentsOf({ html, headline, tagline, link, isNewWindow, form }: Item): HTMLElement[] {
  const parts: HTMLElement[] = [];
  if (html !== null) parts.push(markup(html));
  else {
    if (headline) parts.push(element("p", { class: "headline" }, headline));
    if (tagline) parts.push(element("p", { class: "tagline" }, tagline));
    if (link) {
      const target: Record<string, string> = isNewWindow ? { target: "_blank", rel: "noopener" } : {};
      parts.push(element("a", { class: "link", href: link.url, ...target }, link.text));
    }
  }
  if (form) parts.push(markup(form));
  return parts;
}

function show(item: Item): void {
  if (document.getElementById(KEY) || !isDue(item)) return;
  remember();
  const host = element("div", { id: KEY });
  const isModal = item.style === "modal" || item.style === "page";
  const role = isModal ? "dialog" : "region";
  const box = element("div", { class: "box", role, "aria-label": item.headline || item.name });
  if (isModal) box.setAttribute("aria-modal", "true");
  const close = element("button", { type: "button", class: "close", "aria-label": "Close" }, "\u00d7");
  const leave = () => {
    host.remove();
    document.removeEventListener("keydown", onKey);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Escape") leave();
  };
  close.addEventListener("click", leave);
  document.addEventListener("keydown", onKey);
  box.append(...contentsOf(item), close);
  markLinks(box);
  box.addEventListener("click", onClick);
  // The middle button opens a link in a new tab.
  box.addEventListener("auxclick", onClick);
  host.attachShadow({ mode: "open" }).append(element("style", {}, stylesOf(item)), box);
  document.body.append(host);
  if (isModal) close.focus();
  report("view");
}

/** Calls `then` at the first event that is meant. */
function once(target: EventTarget, name: string, isMeant: (event: Event) => boolean, then: () => void): void {
  const onEvent = (event: Event) => {
    if (!isMeant(event)) return;
    target.removeEventListener(name, onEvent);
    then();
  };
  target.addEventListener(name, onEvent);
}

function isScrolledBy(part: number): boolean {
  const { scrollHeight, clientHeight } = document.documentElement;
  return scrollY >= part * (scrollHeight - clientHeight);
}

function isLeaving(event: Event): boolean {
  const { relatedTarget, clientY } = event as MouseEvent;
  return !relatedTarget && clientY <= 0;
}

function begin(item: Item): void {
  const later = () => void setTimeout(() => show(item), item.delayMs);
  const { scrolled } = item;
  if (scrolled !== null) once(window, "scroll", () => isScrolledBy(scrolled), later);
  else if (item.isOnLeaving) once(document, "mouseout", isLeaving, later);
  else later();
}

if (document.body) begin(ITEM);
else document.addEventListener("DOMContentLoaded", () => begin(ITEM));
