/**
 * The function that runs in the browser of a visitor, with the item as `focus-script.ts` prepares it: JavaScript as text. The page
 * around it and its styles have nothing to do with what is shown (a shadow root), and what cannot be remembered there is shown.
 */
export const SHOW = `(item) => {
  const key = "tidings-focus-" + item.id;
  const remembered = () => {
    try { return Number(localStorage.getItem(key)); } catch { return 0; }
  };
  const remember = () => {
    try { localStorage.setItem(key, String(Date.now())); } catch {}
  };
  const isDue = () => {
    const last = remembered();
    return !last || (item.pauseMs !== null && Date.now() - last >= item.pauseMs);
  };
  const element = (name, attributes, ...children) => {
    const made = document.createElement(name);
    for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
    made.append(...children);
    return made;
  };
  const markup = (html) => {
    const made = element("div", {});
    made.innerHTML = html;
    return made;
  };
  const [vertical] = item.placement.split("_");
  const across = vertical === "bottom" ? "bottom: 0" : "top: 0";
  const side = item.placement.endsWith("left") ? "left: 1rem" : "right: 1rem";
  const places = {
    bar: across + "; left: 0; right: 0; padding: 0.75rem 3rem; text-align: center;",
    modal: "left: 50%; top: 50%; transform: translate(-50%, -50%); width: min(32rem, 90vw); max-height: 90vh;",
    notification: side + "; " + (vertical === "bottom" ? "bottom: 1rem" : "top: 1rem") + "; width: min(22rem, 90vw); max-height: 90vh;",
    page: "inset: 0; display: grid; place-content: center; text-align: center;",
  };
  const styles = () =>
    ":host { all: initial; }" +
    ".box { position: fixed; z-index: 2147483647; box-sizing: border-box; overflow: auto; padding: 1.5rem 3rem 1.5rem 1.5rem;" +
    " font: 1rem/1.4 system-ui, sans-serif; background: " + item.colors.primary + "; color: " + item.colors.text + ";" +
    places[item.style] + "}" +
    ".headline { font-size: 1.3rem; font-weight: bold; margin: 0 0 0.5rem; } .tagline { margin: 0 0 0.75rem; }" +
    ".link { display: inline-block; padding: 0.5rem 1rem; text-decoration: none; background: " + item.colors.button + ";" +
    " color: " + item.colors.buttonText + "; }" +
    ".close { position: absolute; top: 0.5rem; right: 0.5rem; width: 2rem; height: 2rem; border: 0; font-size: 1.3rem;" +
    " background: none; color: inherit; cursor: pointer; }";
  const contents = () => {
    const parts = [];
    if (item.html !== null) parts.push(markup(item.html));
    else {
      if (item.headline) parts.push(element("p", { class: "headline" }, item.headline));
      if (item.tagline) parts.push(element("p", { class: "tagline" }, item.tagline));
      if (item.link) {
        const target = item.isNewWindow ? { target: "_blank", rel: "noopener" } : {};
        parts.push(element("a", { class: "link", href: item.link.url, ...target }, item.link.text));
      }
    }
    if (item.form) parts.push(markup(item.form));
    return parts;
  };
  const show = () => {
    if (document.getElementById(key) || !isDue()) return;
    remember();
    const host = element("div", { id: key });
    const isModal = item.style === "modal" || item.style === "page";
    const box = element("div", { class: "box", role: isModal ? "dialog" : "region", "aria-label": item.headline || item.name });
    if (isModal) box.setAttribute("aria-modal", "true");
    const close = element("button", { type: "button", class: "close", "aria-label": "Close" }, "\\u00d7");
    const leave = () => {
      host.remove();
      document.removeEventListener("keydown", onKey);
    };
    const onKey = (event) => {
      if (event.key === "Escape") leave();
    };
    close.addEventListener("click", leave);
    document.addEventListener("keydown", onKey);
    box.append(...contents(), close);
    host.attachShadow({ mode: "open" }).append(element("style", {}, styles()), box);
    document.body.append(host);
    if (isModal) close.focus();
  };
  const later = () => setTimeout(show, item.delayMs);
  const once = (target, event, isMeant) => {
    const onEvent = (happened) => {
      if (!isMeant(happened)) return;
      target.removeEventListener(event, onEvent);
      later();
    };
    target.addEventListener(event, onEvent);
  };
  const begin = () => {
    if (item.scrolled !== null)
      once(window, "scroll", () => {
        const { scrollHeight, clientHeight } = document.documentElement;
        return scrollY >= item.scrolled * (scrollHeight - clientHeight);
      });
    else if (item.isOnLeaving) once(document, "mouseout", (event) => !event.relatedTarget && event.clientY <= 0);
    else later();
  };
  if (document.body) begin();
  else document.addEventListener("DOMContentLoaded", begin);
}`;
