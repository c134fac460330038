// What an upgraded connection to a pod is for. Plain data: the request part finds it out, the streams part does it.

/** exec and attach; which of the three streams the client wants, and whether on a terminal. */
export interface ProcessService {
  readonly kind: 'exec' | 'attach';
  readonly command: readonly string[];
  readonly stdin: boolean;
  readonly stdout: boolean;
  /** Never with a terminal, which has one output. */
  readonly stderr: boolean;
  readonly tty: boolean;
}

export type PodService = ProcessService | { readonly kind: 'portforward' };

/** Reads PodExecOptions or PodAttachOptions from a query. */
export function processService(kind: 'exec' | 'attach', query: URLSearchParams): ProcessService {
  const is = (name: string) => ['true', '1'].includes(query.get(name) ?? '');
  const tty = is('tty');
  return {
    kind,
    command: query.getAll('command'),
    stdin: is('stdin'),
    stdout: is('stdout'),
    stderr: is('stderr') && !tty,
    tty,
  };
}
