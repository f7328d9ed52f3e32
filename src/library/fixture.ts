/** Servers for the tests of a file, with a namespace for each test, in any test runner. */
import { channel } from 'node:diagnostics_channel'
import type { FixtureOptions, KeelsonFixture, RunnerHooks, RunningServer, StartOptions } from '../public.d.ts'

type Start = (options?: StartOptions) => Promise<RunningServer>

/** How long the server of a worker is kept after a file is done, for the next one. */
const KEEP_MS = 1000

/** The export of a test runner's entry. Hooks are those of the runner. */
export const fixtureFor =
  ({ beforeAll, afterAll, beforeEach, afterEach }: RunnerHooks, start: Start) =>
  ({ per = 'file', apply = [], ...options }: FixtureOptions = {}): KeelsonFixture => {
    let borrowed: Borrowed | undefined
    let namespace: string | undefined
    const server = () => {
      if (!borrowed) throw new Error('the server is there once the tests have begun: use it in tests and hooks')
      return borrowed.server
    }
    beforeAll(async () => {
      borrowed = per === 'worker' ? await borrow(JSON.stringify(options), () => start(options)) : await own(start(options))
      if (apply.length > 0) await borrowed.server.apply(...apply)
    })
    beforeEach(async () => {
      namespace = `test-${Math.random().toString(36).slice(2, 10)}`
      await server().apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    })
    afterEach(async () => {
      borrowed?.server.faults.clear()
      if (namespace !== undefined) await borrowed?.server.fetch(`/api/v1/namespaces/${namespace}`, { method: 'DELETE' })
      namespace = undefined
    })
    afterAll(async () => {
      await borrowed?.giveBack()
      borrowed = undefined
    })
    return {
      get server() {
        return server()
      },
      get namespace() {
        if (namespace === undefined) throw new Error('every test has a namespace of its own, while it runs')
        return namespace
      },
    }
  }

type Borrowed = { readonly server: RunningServer; readonly giveBack: () => Promise<void> }

const own = async (starting: Promise<RunningServer>): Promise<Borrowed> => {
  const server = await starting
  return { server, giveBack: () => server.close() }
}

type Lent = { readonly starting: Promise<RunningServer>; users: number; closing: ReturnType<typeof setTimeout> | undefined }

/**
 * The server of this process for certain options. Runners give every file its own globals and modules, but a diagnostics channel is shared
 * by all of them.
 */
async function borrow(key: string, start: Start): Promise<Borrowed> {
  const shared = channel('keelson.worker') as unknown as { servers?: Map<string, Lent> }
  shared.servers ??= new Map()
  const { servers } = shared
  const lent: Lent = servers.get(key) ?? { starting: start(), users: 0, closing: undefined }
  servers.set(key, lent)
  lent.users++
  clearTimeout(lent.closing)
  const server = await lent.starting
  // A channel without listeners is garbage-collected.
  const listen = () => {}
  channel('keelson.worker').subscribe(listen)
  const giveBack = async () => {
    if (--lent.users > 0) return
    await server.reset()
    lent.closing = setTimeout(() => {
      channel('keelson.worker').unsubscribe(listen)
      servers.delete(key)
      void server.close()
    }, KEEP_MS)
  }
  return { server, giveBack }
}
