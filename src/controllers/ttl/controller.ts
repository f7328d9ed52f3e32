/** Tells kubelets by an annotation of their node how long they may cache Secrets and ConfigMaps. */
import { namedBy } from '../../client/change.ts'
import { Node } from '../../kinds/core/node.ts'
import { defineController, watch } from '../controller.ts'
import { isStated, secondsOf, stepOf } from './reconcile.ts'

const ANNOTATION = 'node.alpha.kubernetes.io/ttl'

export const ttlController = defineController({
  name: 'ttl-controller',
  identity: 'ttl-controller',
  workers: 5,
  create({ client }) {
    const nodes = client.of(Node)
    let step = 0
    return {
      watches: [watch(Node, ({ current, type }) => (type === 'deleted' ? undefined : current.name))],
      async reconcile(key) {
        const node = nodes.get(namedBy(key))
        if (!node) return
        step = stepOf(nodes.count(), step)
        const seconds = secondsOf(step)
        if (!isStated(node.metadata.annotations?.[ANNOTATION], seconds))
          await nodes.patch(node.metadata, { metadata: { annotations: { [ANNOTATION]: String(seconds) } } })
      },
    }
  },
})
