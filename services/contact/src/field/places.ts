import places from "country-region-data/data.json" with { type: "json" };

/**
 * The names and codes that country, region, locale and timezone fields accept: the ISO 3166 lists of a kept package
 * and the English names of CLDR, which the runtime carries.
 */
const cldrNames = new Intl.DisplayNames("en", { type: "region", fallback: "none" });
const shortCldrNames = new Intl.DisplayNames("en", { type: "region", style: "short", fallback: "none" });

const countries = new Set(
  places.flatMap((country) =>
    [country.countryName, cldrNames.of(country.countryShortCode), shortCldrNames.of(country.countryShortCode)]
      .filter((name) => name !== undefined)
      .flatMap((name) => [folded(name), folded(name.replace(/ ?\(.*\)/, ""))]),
  ),
);
for (const name of [
  "Great Britain",
  "England",
  "Scotland",
  "Wales",
  "Czech Republic",
  "Turkey",
  "Swaziland",
  "Macedonia",
  "Cape Verde",
  "Ivory Coast",
  "Burma",
  "East Timor",
  "Holland",
  "Russia",
  "South Korea",
  "North Korea",
  "Vietnam",
  "Laos",
  "Syria",
  "Iran",
  "Moldova",
  "Tanzania",
  "Venezuela",
  "Bolivia",
  "Palestine",
  "Vatican City",
]) {
  countries.add(folded(name));
}

const regions = new Set(places.flatMap((country) => country.regions.map((region) => folded(region.name))));

const languages = new Intl.DisplayNames("en", { type: "language", fallback: "none" });
const timezones = new Set(["UTC", "GMT", ...Intl.supportedValuesOf("timeZone")]);

export function isCountry(name: string): boolean {
  return countries.has(folded(name));
}

export function isRegion(name: string): boolean {
  return regions.has(folded(name));
}

const locales = new Map<string, boolean>();
const LOCALES_KEPT = 1_000;

/** `en`, `en_US`, `zh_Hant_TW` */
export function isLocale(code: string): boolean {
  const known = locales.get(code);
  if (known !== undefined) return known;
  if (locales.size >= LOCALES_KEPT) locales.clear();
  const isKnown = namesLanguage(code);
  locales.set(code, isKnown);
  return isKnown;
}

/** Asking the runtime takes longer than everything else about a contact: answers are kept. */
function namesLanguage(code: string): boolean {
  if (!/^[a-z]{2,3}(_[A-Z][a-z]{3})?(_([A-Z]{2}|\d{3}))?$/.test(code)) return false;
  return languages.of(code.replaceAll("_", "-")) !== undefined;
}

/** An IANA name. The runtime also knows the older names that the IANA list links to the present ones. */
export function isTimezone(name: string): boolean {
  if (timezones.has(name)) return true;
  if (!/^[A-Z][A-Za-z_]+(\/[A-Za-z0-9_+-]+)+$/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false; // the only way the runtime has of saying no
  }
}

function folded(name: string): string {
  return name.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase().trim();
}
