// One peer file -> the peers it names, each with its CA, or its EndpointSlices. The same function reads it at
// start and whenever it changes; what to do with the outcome is the caller's business.
import type { FileReader, FlagPeer, PeerDefaults } from './config.ts';
import type { PeerEntry } from './peer-entries.ts';
import { parsePeerFile } from './peer-file.ts';

/**
 * `slices` are documents for parseEndpointSlices of the core, whose endpoints take the defaults' CA. Problems
 * are whole lines that name the file; a file that names no peer is one.
 */
export type PeerFileResult =
  | { readonly ok: true; readonly peers: readonly FlagPeer[] }
  | { readonly ok: true; readonly slices: readonly unknown[] }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads `file` and the CA files it names, relative to its own folder. Never throws for what files hold. */
export function readPeerFile(
  file: string,
  files: Pick<FileReader, 'documents' | 'certificates'>,
  defaults: PeerDefaults,
): PeerFileResult {
  const read = files.documents(file);
  if (!read.ok) return { ok: false, problems: [read.problem] };
  const parsed = parsePeerFile(read.documents);
  const problems = parsed.ok ? [] : parsed.problems.map((problem) => `${file}: ${problem}`);
  if (!parsed.ok) return { ok: false, problems };
  if ('slices' in parsed) {
    if (defaults.ca !== undefined) return parsed;
    return { ok: false, problems: [`${file}: EndpointSlices need a --peer-ca-file without NAME`] };
  }
  const peers = parsed.peers.flatMap((entry, i): FlagPeer[] => {
    const ca = readCa(entry, { file, files, defaults });
    if ('problem' in ca) problems.push(`${file}: peers[${i}]${ca.problem}`);
    return 'problem' in ca ? [] : [{ serverName: defaults.serverName, ...entry, ...ca }];
  });
  return problems.length > 0 ? { ok: false, problems } : { ok: true, peers };
}

function readCa(
  { caFile }: PeerEntry,
  {
    file,
    files,
    defaults,
  }: { file: string; files: Pick<FileReader, 'certificates'>; defaults: PeerDefaults },
): { readonly ca: string; readonly caFile: string } | { readonly problem: string } {
  if (caFile === undefined) {
    if (defaults.ca !== undefined && defaults.caFile !== undefined)
      return { ca: defaults.ca, caFile: defaults.caFile };
    return { problem: ': no CA (give caFile, or --peer-ca-file without NAME)' };
  }
  const path = caFile.startsWith('/') ? caFile : `${file.slice(0, file.lastIndexOf('/') + 1)}${caFile}`;
  const result = files.certificates(path);
  return result.ok ? { ca: result.text, caFile: path } : { problem: `.caFile: ${result.problem}` };
}
