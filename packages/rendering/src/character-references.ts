import { defaultTreeAdapter, parseFragment } from "parse5";

/** The beginning of a character reference. */
const REFERENCE = /&[#a-z]/i;

/** Text of HTML with its character references read (HTML, 13.2.5.72). */
export function readTextReferences(text: string): string {
  if (!REFERENCE.test(text)) return text;
  const [node] = parseFragment(text.replaceAll("<", "&lt;")).childNodes;
  return node && defaultTreeAdapter.isTextNode(node) ? node.value : text;
}

/** The value of an attribute with its character references read: `&copy=1` is none there (HTML, 13.2.5.73). */
export function readAttributeReferences(value: string): string {
  if (!REFERENCE.test(value)) return value;
  const [node] = parseFragment(`<a title="${value.replaceAll('"', "&quot;")}">`).childNodes;
  return (node && defaultTreeAdapter.isElementNode(node) && node.attrs[0]?.value) || value;
}
