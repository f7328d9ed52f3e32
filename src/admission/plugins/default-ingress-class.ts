/** Ingresses that name no class get the default one, if there is one. */
import { isDefaultIngressClass, newestDefault } from '../../kinds/rules/default-class.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Attributes } from '../attributes.ts'
import type { Plugin } from '../plugin.ts'
import type { Reader } from '../reader.ts'

/** Where the class stood before it had a field. */
const CLASS_ANNOTATION = 'kubernetes.io/ingress.class'

export function defaultIngressClass(reader: Reader, groupDomain: string): Plugin {
  const group = `networking.${groupDomain}`
  const classes = { group, version: 'v1', plural: 'ingressclasses' }
  return {
    name: 'DefaultIngressClass',
    plurals: ['ingresses'],
    mutate({ operation, resource, subresource, object }: Attributes) {
      if (operation !== 'CREATE' || subresource !== '' || resource.group !== group || resource.plural !== 'ingresses') return
      const ingress = object as (AnyObject & { spec: { ingressClassName?: string } }) | undefined
      if (!ingress || ingress.spec.ingressClassName !== undefined) return
      if (Object.hasOwn(ingress.metadata.annotations ?? {}, CLASS_ANNOTATION)) return
      const name = newestDefault(reader.list(classes), isDefaultIngressClass)?.metadata.name
      if (name !== undefined) ingress.spec.ingressClassName = name
    },
  }
}
