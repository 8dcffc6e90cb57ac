import { rangeList } from "@tidings/outbound/allowed-ranges";

interface Operator {
  name: string;
  /** Where the operator publishes its networks. */
  source: string;
  ranges: string[];
}

/**
 * Networks in which machines follow links and no person reads, as their operators published them in November 2026. Networks
 * through which people read, too, are not among them: the proxy that loads pictures for readers of Gmail has addresses
 * right behind those of Google's crawler.
 */
const OPERATORS: Operator[] = [
  {
    name: "Googlebot",
    source: "https://developers.google.com/search/apis/ipranges/googlebot.json",
    ranges: ["66.249.64.0/20", "2001:4860:4801::/48"],
  },
  {
    name: "Bingbot",
    source: "https://www.bing.com/toolbox/bingbot.json",
    ranges: [
      ...["157.55.39.0/24", "207.46.13.0/24", "40.77.167.0/24", "13.66.139.0/24", "13.66.144.0/24"],
      ...["52.167.144.0/24", "13.67.10.16/28", "13.69.66.240/28", "13.71.172.224/28", "139.217.52.0/28"],
      ...["191.233.204.224/28", "20.36.108.32/28", "20.43.120.16/28", "40.79.131.208/28", "40.79.186.176/28"],
      ...["52.231.148.0/28", "20.79.107.240/28", "51.105.67.0/28", "20.125.163.80/28", "40.77.188.0/22"],
      ...["65.55.210.0/24", "199.30.24.0/23", "40.77.202.0/24", "40.77.139.0/25", "20.74.197.0/28"],
      ...["20.15.133.160/27", "40.77.177.0/24", "40.77.178.0/23"],
    ],
  },
  {
    name: "Applebot",
    source: "https://search.developer.apple.com/applebot.json",
    ranges: [
      ...["17.241.208.160/27", "17.241.193.160/27", "17.241.200.160/27", "17.22.237.0/24", "17.22.245.0/24"],
      ...["17.22.253.0/24", "17.241.75.0/24", "17.241.219.0/24", "17.241.227.0/24", "17.246.15.0/24"],
      ...["17.246.19.0/24", "17.246.23.0/24"],
    ],
  },
  {
    name: "Exchange Online Protection",
    source: "https://learn.microsoft.com/microsoft-365/enterprise/urls-and-ip-address-ranges",
    ranges: ["40.92.0.0/15", "40.107.0.0/16", "52.100.0.0/14", "104.47.0.0/17"],
  },
  {
    name: "Symantec Email Security.cloud",
    source: "https://techdocs.broadcom.com/email-security",
    ranges: [
      ...["67.219.240.0/20", "85.158.136.0/21", "95.131.104.0/21", "46.226.48.0/21", "117.120.16.0/21"],
      ...["193.109.254.0/23", "194.106.220.0/23", "195.245.230.0/23", "216.82.240.0/20", "103.9.96.0/22"],
    ],
  },
];

/** The word for the kept list. */
export const KEPT_LIST = "known";
const kept = OPERATORS.flatMap(({ ranges }) => ranges);

/** A variable that lists networks of machines: CIDR ranges, and `known` for the kept list. */
export const machineNetworks = rangeList(new Map([[KEPT_LIST, kept]]));
