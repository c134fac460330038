// How the tests of the simulated cluster speak to it: node:https for single requests, node:http2 where it matters.
import { once } from 'node:events';
import https from 'node:https';
import http2 from 'node:http2';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { SimulatedCluster } from '../../../src/demo/cluster.ts';

/** The fields that the tests look into by name, of all bodies together; which are there the test knows. */
export interface Body {
  readonly apiVersion: string;
  readonly message: string;
  readonly gitVersion: string;
  readonly data: object;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
    readonly annotations?: object;
  };
  readonly items: readonly Body[];
  readonly versions: readonly object[];
  readonly groups: readonly { name: string }[];
  readonly resources: readonly { name: string }[];
  readonly rows: readonly object[];
  readonly paths: Readonly<Record<string, { serverRelativeURL: string }>>;
  readonly components: { readonly schemas: object };
  readonly status: { readonly userInfo: { readonly username: string; readonly groups: readonly string[] } };
}

export interface WatchEvent {
  readonly type: string;
  readonly object: Body;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** An empty object when the body was no JSON. */
  readonly json: Body;
}

export interface Sending {
  readonly method?: string;
  readonly token?: string | undefined;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: unknown;
  readonly cert?: { cert: string; key: string };
}

/** A client of one server of the cluster, as the administrator unless it says otherwise. */
export function clientOf(cluster: SimulatedCluster, name: string) {
  const open = (
    path: string,
    { method = 'GET', headers = {}, body, cert, ...more }: Sending,
  ): https.RequestOptions => ({
    host: '127.0.0.1',
    port: cluster.server(name).port,
    path,
    method,
    ca: cluster.certificates['peer-ca'].cert,
    servername: 'kubernetes.default.svc',
    agent: false,
    ...cert,
    headers: {
      ...('token' in more && more.token === undefined
        ? {}
        : { authorization: `Bearer ${more.token ?? cluster.tokens.admin}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
  });

  const request = async (path: string, sending: Sending = {}): Promise<Reply> => {
    const outgoing = https.request(open(path, sending));
    outgoing.end(typeof sending.body === 'string' ? sending.body : JSON.stringify(sending.body));
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) {
      text += String(chunk);
    }
    const isJson = response.headers['content-type']?.startsWith('application/json') === true && text !== '';
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      text,
      json: (isJson ? JSON.parse(text) : {}) as Body,
    };
  };

  /** Opens a watch; `next` gives event after event, undefined once the stream is over. */
  const watch = async (path: string, sending: Sending = {}) => {
    const outgoing = https.request(open(path, sending));
    outgoing.end();
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    const lines = eventsOf(response);
    return {
      response,
      next: async () => (await lines.next()).value,
      close: () => {
        outgoing.destroy();
      },
    };
  };

  const connectHttp2 = () =>
    http2.connect(cluster.server(name).url, {
      ca: cluster.certificates['peer-ca'].cert,
      servername: 'kubernetes.default.svc',
    });

  return { request, watch, connectHttp2 };
}

async function* eventsOf(response: IncomingMessage): AsyncGenerator<WatchEvent, undefined> {
  let rest = '';
  for await (const chunk of response.setEncoding('utf8')) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      yield JSON.parse(line) as WatchEvent;
    }
  }
  return undefined;
}

export const configMap = (name: string, more: Record<string, unknown> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...more },
  data: { a: 'b' },
});
