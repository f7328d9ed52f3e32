/** The namespaces and priority classes that every server has. */
import type { Client } from '../../client/client.ts'
import { Namespace } from '../../kinds/core/namespace.ts'
import { PriorityClass, SYSTEM_PRIORITY_CLASSES } from '../../kinds/scheduling/priorityclass.ts'

const NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease']

/** Creates missing objects; existing ones stay as they are. */
export async function bootstrap(client: Client): Promise<void> {
  const namespaces = client.of(Namespace)
  const classes = client.of(PriorityClass)
  const absentNamespaces = NAMESPACES.filter(name => !namespaces.exists({ name }))
  const absentClasses = SYSTEM_PRIORITY_CLASSES.filter(({ name }) => !classes.exists({ name }))
  await Promise.all([
    ...absentNamespaces.map(name => namespaces.create({ metadata: { name } })),
    ...absentClasses.map(({ name, ...fields }) => classes.create({ metadata: { name }, ...fields })),
  ])
}
