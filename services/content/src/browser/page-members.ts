import { isRefusing, type Members, newId } from "./visitor.ts";

/** The members of a hit that the browser knows of the page and of itself. */
export function describePage(): Members {
  const { title, referrer, documentElement } = document;
  return {
    hit_key: newId(),
    page_title: title,
    page_language: documentElement.lang || navigator.language,
    preferred_locale: navigator.language.replaceAll("-", "_"),
    page_referrer: referrer && new URL(referrer).host,
    page_url: location.href,
    timezone_offset: `${new Date().getTimezoneOffset()}`,
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone || "",
    resolution: `${screen.width}x${screen.height}`,
    platform: navigator.platform,
    do_not_track: `${isRefusing}`,
  };
}

/** Attributes that have a text. Others would be sent as "undefined" or "[object Object]", and stored as that. */
export function textsOf(attributes: object): Members {
  const texts: Members = {};
  for (const [name, value] of Object.entries(attributes))
    if (/string|number|boolean/.test(typeof value) || Array.isArray(value)) texts[name] = `${value}`;
  return texts;
}
