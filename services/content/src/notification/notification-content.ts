import { isObject, jsonIn } from "@tidings/resource/json-member";
import { textOf } from "@tidings/runtime/plain-text";

/** A notification as a contact gets it. */
export interface NotificationContent {
  heading: string;
  /** Its message. */
  content: string;
  /** Where a click leads; empty where it leads nowhere. */
  url: string;
  button: string;
}

/** The form in which the ledger keeps it, with the parameters that its link gets. */
export function writeContent(content: NotificationContent & { utm: [string, string][] }): string {
  return JSON.stringify(content);
}

/** The parameters that the link gets. */
export function utmIn(text: string): [string, string][] {
  const body = jsonIn(text);
  return isObject(body) && Array.isArray(body.utm) ? body.utm : [];
}

export function readContent(text: string): NotificationContent {
  const body = jsonIn(text);
  const member = (name: string) => (isObject(body) && textOf(body[name])) || "";
  return {
    heading: member("heading"),
    content: member("content"),
    url: member("url"),
    button: member("button"),
  };
}
