/** Custom kinds of a server, and what they need of the rest. */
import { randomUUID } from 'node:crypto'
import type { Controller } from '../../controllers/controller.ts'
import { customKindControllers } from '../../custom/custom-kinds.ts'
import { poster } from '../../custom/https-post.ts'
import { webhookConverter } from '../../custom/webhook-converter.ts'
import { WebhookTransport } from '../../transport/webhook-transport.ts'
import type { ServerContext } from '../context.ts'

/** A write that another server is about to store is here after a fraction of this. */
const LATE_MS = 1_000

/** `served` resolves when the kinds are served that are defined then; `cleanup` deletes the objects of those that go. */
export type RunningCustomKinds = { readonly cleanup: Controller; served(): Promise<void> }

/** Serves the kinds that are defined and follows the definitions. Resolves when those that are there are served. */
export async function startCustomKinds({
  config,
  store,
  catalog,
  caches,
  run,
  destinations,
  signal,
}: ServerContext): Promise<RunningCustomKinds> {
  const { groupDomain } = config
  const transport = new WebhookTransport()
  signal.addEventListener('abort', () => transport[Symbol.dispose](), { once: true })
  const webhook = { post: poster(transport), newUid: randomUUID, groupDomain, resolve: destinations.webhookService }
  const [serving, cleanup] = customKindControllers({
    catalog,
    caches,
    converter: definition => webhookConverter(definition, webhook),
    ...(store.isShared && { lateMs: LATE_MS }),
  })
  const running = run(serving)
  await running.idle()
  return { cleanup, served: () => running.idle() }
}
