/** Gives addresses to services of type LoadBalancer and to ingresses of the simulated class. */

import { namedBy, queueKey } from '../../client/change.ts'
import { serverIdentity } from '../../client/identity.ts'
import { defineController, watch } from '../../controllers/controller.ts'
import { Service } from '../../kinds/core/service/service.ts'
import { Ingress } from '../../kinds/networking/ingress.ts'
import { IngressClass } from '../../kinds/networking/ingressclass.ts'
import { addressesOf, classOf, INGRESS_CLASS, ingressStatus, isBalanced, newAddresses, SIMULATED_CLASS } from './reconcile.ts'

const INGRESS = 'ingress:'
/** The key that creates the IngressClass: once, at the start. */
const CLASS = 'class'

/** Writes services as the service controller of Kubernetes does. Kubernetes has no identity for ingresses: each controller brings its own. */
export const simulatedLoadBalancers = defineController({
  name: 'simulated-load-balancer-controller',
  identity: 'service-controller',
  component: 'service-controller',
  create({ client, recorder, enqueue }) {
    const own = client.as(serverIdentity('simulated-load-balancer'))
    const [services, ingresses, classes] = [client.of(Service), own.of(Ingress), own.of(IngressClass)]
    enqueue(CLASS)
    return {
      watches: [
        watch(Service),
        watch(Ingress, ({ current }) => INGRESS + queueKey(current)),
        watch(IngressClass, () => Array.from(ingresses.revisions(), ingress => INGRESS + queueKey(ingress))),
      ],
      async reconcile(key) {
        if (key === CLASS) await classes.create({ metadata: { name: INGRESS_CLASS }, spec: { controller: SIMULATED_CLASS } })
        else if (key.startsWith(INGRESS)) await reconcileIngress(key.slice(INGRESS.length))
        else await reconcileService(key)
      },
    }

    /** Keys run one at a time: an address is taken once its service has it. */
    async function reconcileService(key: string): Promise<void> {
      const service = services.get(namedBy(key))
      if (!service || !isBalanced(service) || addressesOf(service).length > 0) return
      const taken = new Set(Array.from(services.list(), addressesOf).flat())
      const ingress = newAddresses(service, taken).map(ip => ({ ip, ipMode: 'VIP' }))
      if (ingress.length === 0) return
      recorder.event(service, 'Normal', 'EnsuringLoadBalancer', 'Ensuring load balancer')
      await services.updateStatus({ ...service, status: { ...service.status, loadBalancer: { ingress } } })
      recorder.event(service, 'Normal', 'EnsuredLoadBalancer', 'Ensured load balancer')
    }

    async function reconcileIngress(key: string): Promise<void> {
      const ingress = ingresses.get(namedBy(key))
      const name = ingress && classOf(ingress)
      const status = ingress && ingressStatus(ingress, name === undefined ? undefined : classes.get({ name }))
      if (status) await ingresses.updateStatus({ ...ingress, status })
    }
  },
})
