/** Kinds whose objects can hold so many expressions that they are validated in a worker: those that declare `ruleWork`. */
import type { Kind } from '../schema/kind.ts'
import { MutatingAdmissionPolicy } from './admissionregistration/mutatingadmissionpolicy.ts'
import { MutatingWebhookConfiguration } from './admissionregistration/mutatingwebhookconfiguration.ts'
import { ValidatingAdmissionPolicy } from './admissionregistration/validatingadmissionpolicy.ts'
import { ValidatingWebhookConfiguration } from './admissionregistration/validatingwebhookconfiguration.ts'
import { CustomResourceDefinition } from './apiextensions/customresourcedefinition.ts'

export const kindsWithExpressions: readonly Kind<any>[] = [
  CustomResourceDefinition,
  MutatingAdmissionPolicy,
  MutatingWebhookConfiguration,
  ValidatingAdmissionPolicy,
  ValidatingWebhookConfiguration,
]
