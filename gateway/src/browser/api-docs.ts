/** Names for parts of the viewer that have none, which screen readers say. */
const NAMES = {
  "nav[part=section-navbar]": "API",
  nav: "Operations",
  textarea: "Example of a body",
  select: "Example",
};

/** Colours of the viewer are too light on white. */
const CONTRAST = new CSSStyleSheet();
CONTRAST.replaceSync(`
  .string { color: #3d6600 }
  .number, .boolean, .null { color: #8a3b00 }
  .get, .constraint { color: #0b5cad }
  .red-text { color: #a31515 }`);

/** Names the parts of a tree, and watches the shadow trees below it. */
function nameParts(root: ParentNode): void {
  for (const [selector, name] of Object.entries(NAMES))
    for (const part of root.querySelectorAll(`${selector}:not([aria-label])`))
      part.setAttribute("aria-label", name);
  for (const { shadowRoot } of root.querySelectorAll("*")) if (shadowRoot) watch(shadowRoot);
}

const watched = new WeakSet<ShadowRoot>();

/** Keeps a tree named while it is drawn anew. */
function watch(root: ShadowRoot): void {
  if (watched.has(root)) return;
  watched.add(root);
  root.adoptedStyleSheets.push(CONTRAST);
  new MutationObserver(() => nameParts(root)).observe(root, { childList: true, subtree: true });
  nameParts(root);
}

const viewer = document.querySelector("rapi-doc")?.shadowRoot;
if (viewer) watch(viewer);
