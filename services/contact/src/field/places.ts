import subdivisions from "cldr-subdivisions-full/subdivisions/en/en.json" with { type: "json" };
import places from "country-region-data/data.json" with { type: "json" };
import isoCountries from "i18n-iso-countries/codes.json" with { type: "json" };
import isoNames from "i18n-iso-countries/langs/en.json" with { type: "json" };

/**
 * The names and codes that country, region, locale and timezone fields accept: those of ISO 3166 and of CLDR as kept
 * packages list them, and what people and other products write instead. How a name is spelled out does not matter: `Korea,
 * Republic of` and `The Republic of Korea` are the same.
 */
const cldrNames = new Intl.DisplayNames("en", { type: "region", fallback: "none" });
const shortCldrNames = new Intl.DisplayNames("en", { type: "region", style: "short", fallback: "none" });

/** Former names, parts that are thought of as countries, and short forms that no list has. */
const OTHER_COUNTRIES =
  `England, Scotland, Wales, Northern Ireland, Viet Nam, Czech Republic, Turkey, Swaziland, Macedonia,
  Cape Verde, Ivory Coast, Burma, East Timor, Holland, Russia, South Korea, North Korea, Vietnam, Laos, Syria, Iran,
  Moldova, Tanzania, Venezuela, Bolivia, Palestine, Palestinian Territory, Palestinian Territories, Vatican City, Vatican,
  Tahiti, Macau, Macao, Netherlands Antilles, Kosovo, Brunei, Micronesia, Reunion, Curacao, Sint Maarten, Saint Martin,
  Saint Barthelemy, Saint Helena, Pitcairn, Falkland Islands, U.S. Virgin Islands, British Virgin Islands,
  Bonaire Saint Eustatius and Saba, Svalbard, Serbia and Montenegro, Yugoslavia, Zaire, Upper Volta, Western Samoa,
  Congo-Brazzaville, Congo-Kinshasa, Korea, Great Britain, America, Emirates, Bosnia, Trinidad, Antigua, Somaliland,
  Canary Islands, Channel Islands, Ascension Island, Tristan da Cunha, Keeling Islands, Saint Vincent, Sao Tome`
    .split(",")
    .map((name) => name.trim());

const NAME_LENGTH_MAX = 200;
const SMALL_WORDS = new Set(["", "the", "of", "and"]);

const countries = new Set(
  [
    ...OTHER_COUNTRIES,
    ...isoCountries.flatMap(([alpha2, alpha3]) => [alpha2 ?? "", alpha3 ?? ""]),
    ...Object.values<string | string[]>(isoNames.countries).flat(),
    ...places.flatMap(({ countryName, countryShortCode: code }) => [
      countryName,
      cldrNames.of(code) ?? "",
      shortCldrNames.of(code) ?? "",
    ]),
  ].flatMap((name) => [wordsOf(name), wordsOf(name.replace(/ ?\(.*\)/, ""))]),
);

const regions = new Set(
  [
    ...places.flatMap(({ countryShortCode, regions: all }) =>
      all.flatMap(({ name, shortCode = "" }) => [name, shortCode, `${countryShortCode}-${shortCode}`]),
    ),
    ...Object.values<string>(subdivisions.subdivisions.localeDisplayNames.subdivisions),
  ].map(wordsOf),
);

const languages = new Intl.DisplayNames("en", { type: "language", fallback: "none" });
const timezones = new Set(["UTC", "GMT", ...Intl.supportedValuesOf("timeZone")]);

export function isCountry(name: string): boolean {
  return isAmong(countries, name);
}

export function isRegion(name: string): boolean {
  return isAmong(regions, name);
}

function isAmong(names: ReadonlySet<string>, name: string): boolean {
  const words = name.length <= NAME_LENGTH_MAX ? wordsOf(name) : "";
  return words !== "" && names.has(words);
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

/** The words of a name without accents, signs and the small ones between them, in the order of the alphabet. */
function wordsOf(name: string): string {
  const words = name
    .normalize("NFKD")
    .replaceAll(/[\p{M}.'’]/gu, "")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .map((word) => (word === "st" ? "saint" : word))
    .filter((word) => !SMALL_WORDS.has(word));
  return words.sort().join(" ");
}
