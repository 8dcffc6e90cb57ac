/** The words of a refusal on the public web. */
export interface PublicRefusal {
  title: string;
  text: string;
}

const REFUSALS = new Map<number, PublicRefusal>([
  [404, { title: "Not found", text: "There is no such page." }],
  [405, { title: "Not found", text: "There is no such page." }],
  [413, { title: "Too much at once", text: "The form holds more than can be taken. Send less." }],
  [429, { title: "Too many requests", text: "Please wait a moment and try again." }],
  [500, { title: "Something went wrong", text: "It was written down. Please try again later." }],
  [503, { title: "Not available at the moment", text: "Please try again in a moment." }],
]);
const UNREADABLE = { title: "This request could not be read", text: "Please open the page again." };

/** The words for visitors whose request is refused with this HTTP status, by whichever process. */
export function publicRefusal(status: number): PublicRefusal {
  return REFUSALS.get(status) ?? UNREADABLE;
}
