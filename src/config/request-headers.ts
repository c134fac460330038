// The --requestheader-… flags -> the names of headers that say who a caller is. What is named here is stripped
// from every request, so names with another meaning are refused.
import { isHeaderName } from './address.ts';
import type { RequestHeaders } from './config.ts';
import type { FLAGS } from './flags.ts';
import type { FlagValues } from './value.ts';

type Values = FlagValues<typeof FLAGS>;
type RequestHeaderFlag = keyof Values & `requestheader-${string}`;
type Complain = (problem: string) => void;

const PREFIX_FLAG = 'requestheader-extra-headers-prefix';
/** Credentials, framing, what one hop owns, and what uvip itself writes; Impersonate-… is for the peer to judge. */
const RESERVED = [
  'authorization',
  'host',
  'connection',
  'content-length',
  'content-type',
  'transfer-encoding',
  'upgrade',
  'cookie',
  'audit-id',
  'x-forwarded-for',
  'expect',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'x-kubernetes-peer-proxied',
];
const IMPERSONATE = 'impersonate-';

/** Every problem goes to `complain`; the names returned are as given, in their order. */
export function readRequestHeaders(values: Values, complain: Complain): RequestHeaders {
  const flagOf = new Map<string, string>(); // lower-case header name -> the flag that gave it
  const names = (flag: RequestHeaderFlag): readonly string[] =>
    // kube-apiserver takes these as comma-separated lists too.
    values[flag]
      .flatMap((text) => text.split(','))
      .map((text) => {
        const name = text.trim();
        const other = flagOf.get(name.toLowerCase());
        const reserved = reservedBy(flag, name.toLowerCase());
        if (name === '') complain(`--${flag}: a header name is blank`);
        else if (!isHeaderName(name)) complain(`--${flag} ${name}: not the name of a header`);
        else if (reserved !== undefined) complain(`--${flag}: ${name} may not carry an identity${reserved}`);
        else if (other !== undefined && other !== flag)
          complain(`--${flag} ${name}: --${other} names the same header`);
        else flagOf.set(name.toLowerCase(), flag);
        return name;
      });
  return {
    username: names('requestheader-username-headers'),
    group: names('requestheader-group-headers'),
    extraPrefix: names(PREFIX_FLAG),
    uid: names('requestheader-uid-headers'),
  };
}

/** Says, in brackets where it is not plain, what makes a name reserved; undefined where nothing does. */
function reservedBy(flag: RequestHeaderFlag, name: string): string | undefined {
  if (RESERVED.includes(name) || name.startsWith(IMPERSONATE)) return '';
  if (flag !== PREFIX_FLAG) return undefined;
  const covered = [...RESERVED, IMPERSONATE].find((reserved) => reserved.startsWith(name));
  return covered && ` (${covered} begins with it)`;
}
