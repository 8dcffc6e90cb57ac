/** A handle, also as the address of a profile. Of other sites than the first one handles may be longer than 15 characters. */
const HANDLE = /^(?:(?:https?:\/\/)?(?:www\.|mobile\.)?(?:twitter|x)\.com\/)?@?([A-Za-z0-9_]{1,50})\/?$/i;

/** The handle in the value of a field, without the sign `@`; undefined where it is none. */
export function twitterHandle(value: string): string | undefined {
  return HANDLE.exec(value.trim())?.[1];
}
