/** A populous zone for each offset, in minutes behind UTC as browsers say it, by its standard time. */
const ZONES: Record<string, string> = {
  "660": "Pacific/Pago_Pago",
  "600": "Pacific/Honolulu",
  "540": "America/Anchorage",
  "480": "America/Los_Angeles",
  "420": "America/Denver",
  "360": "America/Chicago",
  "300": "America/New_York",
  "240": "America/Halifax",
  "210": "America/St_Johns",
  "180": "America/Sao_Paulo",
  "60": "Atlantic/Azores",
  "0": "Europe/London",
  "-60": "Europe/Paris",
  "-120": "Europe/Helsinki",
  "-180": "Europe/Moscow",
  "-210": "Asia/Tehran",
  "-240": "Asia/Dubai",
  "-270": "Asia/Kabul",
  "-300": "Asia/Karachi",
  "-360": "Asia/Dhaka",
  "-420": "Asia/Bangkok",
  "-480": "Asia/Shanghai",
  "-540": "Asia/Tokyo",
  "-600": "Australia/Sydney",
  "-660": "Pacific/Noumea",
  "-720": "Pacific/Auckland",
};

/** The time zone of a browser that says its offset alone (engines.md 7.3): a guess, empty where there is none. */
export function guessedZone(offset: string): string {
  return Object.hasOwn(ZONES, offset) ? (ZONES[offset] ?? "") : "";
}
