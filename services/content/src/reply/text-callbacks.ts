import { genericCheck } from "../callback/generic.ts";
import { type CallbackOf, longSecret, type ProviderOf, readEntries } from "../callback/read-entries.ts";
import { readGenericText } from "./generic-text.ts";
import type { TextEvent } from "./text-event.ts";
import { NO_MESSAGE, readTwilio, SEND_PARAMETER, twilioCheck } from "./twilio.ts";

/** THE table of the providers of text messages whose callbacks are understood. */
const PROVIDERS = {
  generic: { read: readGenericText, checkOf: (secret) => longSecret(secret, genericCheck) },
  twilio: {
    read: readTwilio,
    checkOf: (secret) => longSecret(secret, twilioCheck),
    answer: NO_MESSAGE,
  },
} satisfies Record<string, ProviderOf<TextEvent>>;

type TextProvider = keyof typeof PROVIDERS;

/** A provider of text messages whose callbacks are taken. */
export type TextCallback = CallbackOf<TextProvider, TextEvent>;

/** Reads the entries of SMS_CALLBACKS. */
export function readTextCallbacks(items: string[]): TextCallback[] | { problem: string } {
  return readEntries<TextProvider, TextEvent>(PROVIDERS, items);
}

/** The address for reports of a send, which its message names; undefined where no provider takes one. */
export function reportAddresses({
  SMS_CALLBACKS: callbacks,
  PUBLIC_URL: publicUrl,
}: {
  SMS_CALLBACKS: TextCallback[];
  PUBLIC_URL: string;
}): ((hash: string) => string) | undefined {
  if (!callbacks.some(({ name }) => name === "twilio")) return undefined;
  const address = new URL("/sms/twilio/callback", publicUrl).href;
  // The provider signs the whole address: nobody else can name a send.
  return (hash) => `${address}?${SEND_PARAMETER}=${hash}`;
}
