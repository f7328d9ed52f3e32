/** A running server with the interface for tests. */
import { readFile } from 'node:fs/promises'
import { eventJson } from '../audit/event.ts'
import { replaceFile } from '../lib/private-files.ts'
import type { ClientConfig, RunningServer, Snapshot, UserAccess, Workspace, WorkspaceOptions } from '../public.d.ts'
import { CONTEXT_NAME, kubeconfigText } from '../server/credentials/kubeconfig.ts'
import type { Credentials, Server } from '../server/running-server.ts'
import { SnapshotError } from '../storage/snapshot/format.ts'
import { type Fetch, fetchAs, fetchWithToken } from './fetch.ts'
import { objectAccess } from './objects.ts'
import { fileOf, stateIn } from './snapshot-file.ts'
import type { SavedState } from './state.ts'
import { millisecondsOf, type TestKit } from './test-kit.ts'
import { waitFor } from './wait-for.ts'

/** Prints as its size alone: its records are private. */
class Kept implements Snapshot {
  readonly #state: SavedState
  readonly #file: () => Promise<Buffer>
  readonly objects: number

  constructor(state: SavedState, file: () => Promise<Buffer>) {
    this.#state = state
    this.#file = file
    this.objects = state.records.size
  }

  get state(): SavedState {
    return this.#state
  }

  async save(file: string): Promise<void> {
    replaceFile(file, await this.#file())
  }
}

export type TestServerParts = {
  readonly server: Server
  readonly kit: TestKit
  readonly groupDomain: string
  /** Makes isolated servers, where the options allow that. */
  readonly workspaces?: WorkspacesParts | undefined
  /** Manifests that belong to the state for `reset`. */
  readonly apply: readonly (string | object)[]
}

/** The server as the library exposes it. Rejects if the manifests cannot be applied. */
export async function testServer({ server, kit, groupDomain, workspaces, apply }: TestServerParts): Promise<RunningServer> {
  const { clock, faults, recorder } = kit
  const { url, client } = server
  // The YAML parser is loaded with the first manifest.
  const applied = async (sources: readonly (string | object)[]) => (await import('./apply.ts')).applyTo(client, sources)
  kit.attach(server, apply.length > 0 ? () => applied(apply) : undefined)
  if (apply.length > 0) await kit.ready()
  const close = () => {
    kit.end()
    return server.close()
  }
  const fetch = fetchAs(url, () => server.credentials)
  const now = () => new Date(clock.now())
  return {
    url,
    // Its certificate is renewed before it expires.
    get kubeconfig() {
      return server.kubeconfig
    },
    get kubeConfig() {
      return clientConfig(url, server.credentials)
    },
    fetch,
    ...objectAccess(fetch, client),
    close,
    [Symbol.asyncDispose]: close,
    async apply(...sources) {
      await kit.ready()
      return (await applied(sources)) as never
    },
    reset: () => kit.reset(),
    async snapshot() {
      const state = await kit.save()
      return new Kept(state, () => fileOf(state, { groupDomain, now: now() }))
    },
    async workspace(name, options) {
      if (!workspaces) throw new TypeError('workspaces are for servers with the option workspaces: true')
      return workspaceOf(workspaces, name, options && workspaceOptions(options))
    },
    async restore(snapshot) {
      if (typeof snapshot !== 'string' && !(snapshot instanceof Kept))
        throw new TypeError('restore takes what snapshot has returned, or the path of a file')
      await kit.restore(typeof snapshot === 'string' ? await stateOfFile(snapshot, groupDomain) : snapshot.state)
    },
    as: (user, groups) => userAccess(server, server.certify(user, [...(groups ?? [])])),
    kubeconfigFor: (user, groups) => userAccess(server, server.certify(user, [...(groups ?? [])])).kubeconfig,
    waitFor: (object, condition, options) => waitFor(client, object, condition, options),
    settled: () => server.settled(),
    requests: () => [...recorder.requests],
    changes: () => [...recorder.changes],
    accessUsage: () => recorder.accessUsage.report(),
    audit: () => recorder.auditEvents.map(event => JSON.parse(eventJson(event))),
    clock: {
      now,
      advance: async duration => kit.advance(millisecondsOf(duration)),
      freeze: () => clock.freeze(),
      resume: () => clock.resume(),
    },
    faults: {
      add: fault => faults.add(fault),
      clear: () => faults.clear(),
      seed: seed => faults.seed(seed),
      report: () => faults.report(),
    },
  }
}

/** The workspaces of a server, as the library uses them. */
export type WorkspacesParts = {
  has(name: string): boolean
  get(name: string): WorkspaceAccess
  create(options: WorkspaceWishes): Promise<WorkspaceAccess>
  delete(name: string): Promise<unknown>
  serverOf(name: string): Server
}
type WorkspaceAccess = { readonly url: string; readonly ca: string; readonly token: string; readonly kubeconfig: string }
type WorkspaceWishes = Omit<WorkspaceOptions, 'from'> & {
  readonly name?: string
  readonly from?: { readonly state: SavedState } | { readonly workspace: string }
}

function workspaceOptions({ from, ...others }: WorkspaceOptions): WorkspaceWishes {
  if (from === undefined) return others
  if (typeof from === 'string') return { ...others, from: { workspace: from } }
  if (!(from instanceof Kept)) throw new TypeError('from takes what snapshot has returned, or the name of a workspace')
  return { ...others, from: { state: from.state } }
}

async function workspaceOf(workspaces: WorkspacesParts, name: string, wishes: WorkspaceWishes | undefined): Promise<Workspace> {
  const { url, ca, token, kubeconfig } =
    !wishes && workspaces.has(name) ? workspaces.get(name) : await workspaces.create({ ...wishes, name })
  const fetch = fetchWithToken(url, { ca, token })
  const server = workspaces.serverOf(name)
  return {
    name,
    url,
    fetch,
    kubeconfig,
    kubeConfig: { ...clientConfig(url, { ca, cert: '', key: '' }), users: [{ name: CONTEXT_NAME, token }] },
    ...objectAccess(fetch, server.client),
    settled: () => server.settled(),
    async delete() {
      // Another one may have its name by now.
      if (workspaces.has(name) && workspaces.serverOf(name) === server) await workspaces.delete(name)
    },
  }
}

/** The API as the user of a certificate; `wrap` may change how requests are sent. */
export function userAccess(
  { url, credentials: { ca }, client }: Server,
  pair: Omit<Credentials, 'ca'>,
  wrap: (fetch: Fetch) => Fetch = fetch => fetch,
): UserAccess {
  const credentials = { ca, ...pair }
  const fetch = wrap(fetchAs(url, () => credentials))
  return {
    fetch,
    kubeconfig: kubeconfigText({ server: url, ...credentials }),
    kubeConfig: clientConfig(url, credentials),
    ...objectAccess(fetch, client),
  }
}

/** Options for `loadFromOptions` of client-node's KubeConfig. */
function clientConfig(server: string, { ca, cert, key }: Credentials): ClientConfig {
  const name = CONTEXT_NAME
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  return {
    clusters: [{ name, server, caData: base64(ca), skipTLSVerify: false }],
    users: [{ name, certData: base64(cert), keyData: base64(key) }],
    contexts: [{ name, cluster: name, user: name }],
    currentContext: name,
  }
}

/** Throws SnapshotError, which names the file. */
async function stateOfFile(file: string, groupDomain: string): Promise<SavedState> {
  try {
    return await stateIn(await readFile(file), { groupDomain })
  } catch (error) {
    throw error instanceof SnapshotError ? new SnapshotError(`${file} ${error.message}`) : error
  }
}
