const CITIES = ["London", "Paris", "Berlin", "Madrid", "Rome", "Vienna", "Prague", "Warsaw"];
const COUNTRIES = [
  "United Kingdom",
  "France",
  "Germany",
  "Spain",
  "Italy",
  "Austria",
  "Czech Republic",
  "Poland",
];
const NAMES = ["Ada", "Grace", "Barbara", "Frances", "Margaret", "Karen", "Radia", "Shafi", "Edsger", "Alan"];

/** The fields of sample contacts, all of them text. */
export const SAMPLE_FIELDS = [
  "title",
  "firstname",
  "lastname",
  "company",
  "position",
  "email",
  "mobile",
  "phone",
  "address1",
  "address2",
  "city",
  "zipcode",
  "country",
  "preferred_locale",
  "timezone",
  "website",
  "facebook",
  "linkedin",
  "twitter",
] as const;

export type SampleContact = Record<(typeof SAMPLE_FIELDS)[number], string>;

/** The contact of a number: no two are alike. */
export function sampleContact(number: number): SampleContact {
  const pick = (list: string[]) => list[number % list.length] ?? "";
  const name = pick(NAMES);
  return {
    title: number % 2 === 0 ? "Mrs" : "Mr",
    firstname: name,
    lastname: `Lovelace-${number}`,
    company: `Analytical Engines ${number % 5_000} Ltd`,
    position: "Senior engineer of difference machines",
    email: `${name.toLowerCase()}.${number}@example.com`,
    mobile: `+44 7700 ${900_000 + (number % 100_000)}`,
    phone: `+44 20 7946 ${1_000 + (number % 9_000)}`,
    address1: `${number % 300} St James's Square`,
    address2: "Second floor",
    city: pick(CITIES),
    zipcode: `SW1Y ${number % 10}JH`,
    country: pick(COUNTRIES),
    preferred_locale: "en_GB",
    timezone: "Europe/London",
    website: `https://example.com/people/${number}`,
    facebook: `lovelace.${number}`,
    linkedin: `in/lovelace-${number}`,
    twitter: `@lovelace${number}`,
  };
}

/** Numbers of sample contacts that nobody else in this run uses. */
export const nextNumber = (() => {
  let last = 0;
  return () => {
    last += 1;
    return last;
  };
})();
