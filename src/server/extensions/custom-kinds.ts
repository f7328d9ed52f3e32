/** The custom kinds of a server, and their connections to its other parts. */
import type { Controller } from '../../controllers/controller.ts'
import { customKindControllers } from '../../custom/custom-kinds.ts'
import { poster } from '../../custom/https-post.ts'
import { webhookConverter } from '../../custom/webhook-converter.ts'
import { newUuid } from '../../lib/environment.ts'
import { WebhookTransport } from '../../transport/webhook-transport.ts'
import type { ServerContext } from '../context.ts'

/** Delay within which a write of another server arrives here, with a wide margin. */
const LATE_MS = 1_000

/** `served` resolves when all kinds defined by then are served; `cleanup` deletes the objects of removed kinds. */
export type RunningCustomKinds = { readonly cleanup: Controller; served(): Promise<void> }

/** Serves the defined kinds and follows the definitions. Resolves when the existing ones are served. */
export async function startCustomKinds({
  config,
  store,
  catalog,
  caches,
  run,
  destinations,
  egress,
  signal,
}: ServerContext): Promise<RunningCustomKinds> {
  const { groupDomain } = config
  const transport = new WebhookTransport({ dial: egress.controlplane })
  signal.addEventListener('abort', () => transport[Symbol.dispose](), { once: true })
  const webhook = { post: poster(transport), newUid: newUuid, groupDomain, resolve: destinations.webhookService }
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
