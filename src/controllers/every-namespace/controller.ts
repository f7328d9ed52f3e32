/** Makes controllers that keep one object of a fixed name in every active namespace; each controller computes the desired object. */

import type { Draft } from '../../client/client.ts'
import { Namespace } from '../../kinds/core/namespace.ts'
import type { Kind, ObjectOf } from '../../schema/kind.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { isNamespaceTerminating, StatusError } from '../../schema/status-error.ts'
import { type Controller, defineController, watch } from '../controller.ts'

/** The write that an object needs: it is created or replaced. */
export type Step<O> = { readonly step: 'create'; readonly object: Draft<O> } | { readonly step: 'update'; readonly object: O }

export type EveryNamespace<K extends Kind<any>> = Pick<Controller, 'name' | 'identity'> & {
  readonly kind: K
  /** The name of the object in every namespace. */
  readonly objectName: string
  /** The next step for the stored object, if there is one; undefined when it is up to date. */
  readonly nextStep: (stored: ObjectOf<K> | undefined) => Step<ObjectOf<K>> | undefined
}

export const everyNamespaceController = <K extends Kind<any>>({ name, identity, kind, objectName, nextStep }: EveryNamespace<K>) =>
  defineController({
    name,
    identity,
    workers: 16,
    create({ client }) {
      const namespaces = client.of(Namespace)
      const objects = client.of<Kind<AnyObject>>(kind)
      return {
        watches: [
          watch(Namespace, ({ current, type }) => (type === 'deleted' ? undefined : current.name)),
          watch(kind, ({ current }) => (current.name === objectName ? current.namespace : undefined)),
        ],
        async reconcile(namespace) {
          const found = namespaces.get({ name: namespace })
          if (found?.status.phase !== 'Active' || found.metadata.deletionTimestamp) return
          const step = nextStep(objects.get({ namespace, name: objectName }) as ObjectOf<K> | undefined)
          try {
            if (step?.step === 'create')
              await objects.create({ ...step.object, metadata: { name: objectName, ...step.object.metadata, namespace } })
            else if (step) await objects.update(step.object)
          } catch (error) {
            if (!isNamespaceGoing(error)) throw error
          }
        },
      }
    },
  })

/** The namespace is being deleted, or gone: nothing can be created there any more. */
const isNamespaceGoing = (error: unknown): boolean => (error instanceof StatusError && error.code === 404) || isNamespaceTerminating(error)
