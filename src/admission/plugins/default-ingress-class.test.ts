import assert from 'node:assert/strict'
import { test } from 'node:test'
import { admitted, readerOf } from '../../../test/kits/admission.ts'
import type { Draft } from '../../../test/kits/kinds/kinds.ts'
import { Ingress } from '../../kinds/networking/ingress.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { defaultIngressClass } from './default-ingress-class.ts'

const nginx: AnyObject = {
  kind: 'IngressClass',
  apiVersion: 'networking.k8s.io/v1',
  metadata: { name: 'nginx', annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } },
}
const classOf = (classes: AnyObject[], ingress: Draft = {}) =>
  admitted(defaultIngressClass(readerOf({ ingressclasses: classes }), 'k8s.io'), Ingress, ingress).spec.ingressClassName

test('an ingress without a class gets the default one', () => {
  assert.equal(classOf([nginx]), 'nginx')
  assert.equal(classOf([]), undefined)
})

test('a class that is named is kept, in the field or in the annotation', () => {
  assert.equal(classOf([nginx], { spec: { ingressClassName: 'own' } }), 'own')
  assert.equal(classOf([nginx], { metadata: { annotations: { 'kubernetes.io/ingress.class': 'own' } } }), undefined)
})
