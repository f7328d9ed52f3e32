/** The namespaces that every server has, and the priority classes of one that has pods. */
import type { Client } from '../../client/client.ts'
import { Namespace } from '../../kinds/core/namespace.ts'

const NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease']

/** Creates missing objects; existing ones stay as they are. */
export async function ensureNamespacesAndPriorityClasses(client: Client): Promise<void> {
  const namespaces = client.of(Namespace)
  const absent = NAMESPACES.filter(name => !namespaces.exists({ name }))
  await Promise.all([
    ...absent.map(name => namespaces.create({ metadata: { name } })),
    client.findNamed('scheduling.{group_domain}', 'v1', 'priorityclasses') ? ensurePriorityClasses(client) : undefined,
  ])
}

async function ensurePriorityClasses(client: Client): Promise<void> {
  const { PriorityClass, SYSTEM_PRIORITY_CLASSES } = await import('../../kinds/scheduling/priorityclass.ts')
  const classes = client.of(PriorityClass)
  const absent = SYSTEM_PRIORITY_CLASSES.filter(({ name }) => !classes.exists({ name }))
  await Promise.all(absent.map(({ name, ...fields }) => classes.create({ metadata: { name }, ...fields })))
}
