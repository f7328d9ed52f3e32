import { startApiServices } from './api-services.ts'
import type { Config } from './config.ts'
import { ensureFlowControl } from './flow-control.ts'
import { clientFor, type Inner, SERVER } from './inner.ts'

/** Writes what is missing and follows what changes; resolves when all is there. */
export async function startOwnObjects({ groupDomain }: Config, parts: Inner): Promise<void> {
  const { log, signal } = parts
  const client = clientFor(parts, { user: SERVER, manager: 'kube-apiserver', groupDomain })
  const onError = (error: unknown) => {
    if (!signal.aborted) log.warn({ error: String(error) }, 'what the server tells of itself could not be written')
  }
  const setup = { ...parts, client, groupDomain, onError }
  await Promise.all([ensureFlowControl(setup), startApiServices(setup)]).catch(onError)
}
