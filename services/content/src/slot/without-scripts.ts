import { type DefaultTreeAdapterTypes, defaultTreeAdapter, parseFragment, serialize } from "parse5";

/** Elements that run code, or load a document that does. */
const RUNNING = new Set(["script", "iframe", "object", "embed", "base", "frame", "frameset", "applet"]);
const RUNNING_URL = /^(?:javascript|data|vbscript):/i;
/** Browsers leave these out of an address (URL Standard, 4.4: tab, newline, and what is around it). */
const LEFT_OUT = /[\s\p{Cc}]/gu;

/** HTML as its author wrote it, without what runs code on the page that it is put into. */
export function withoutScripts(html: string): string {
  const fragment = parseFragment(html);
  clean(fragment);
  return serialize(fragment);
}

/** Elements are many and may be nested deeply: they are walked by a list, not by calls within calls. */
function clean(root: DefaultTreeAdapterTypes.ParentNode): void {
  const waiting: DefaultTreeAdapterTypes.ParentNode[] = [root];
  for (let parent = waiting.pop(); parent; parent = waiting.pop()) {
    for (const node of [...parent.childNodes]) {
      if (!defaultTreeAdapter.isElementNode(node)) continue;
      if (RUNNING.has(node.tagName)) {
        defaultTreeAdapter.detachNode(node);
        continue;
      }
      node.attrs = node.attrs.filter(
        ({ name, value }) =>
          !/^on/i.test(name) && name !== "srcdoc" && !RUNNING_URL.test(value.replaceAll(LEFT_OUT, "")),
      );
      waiting.push(node);
      if (node.tagName === "template") waiting.push((node as DefaultTreeAdapterTypes.Template).content);
    }
  }
}
