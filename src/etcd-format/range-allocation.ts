/** RangeAllocation: which items of a range are taken, as one object that is never served. kube-apiserver keeps node ports in one. */
import { API_VERSION_DOC, KIND_DOC, ObjectMeta } from '../schema/object-meta.ts'
import { bytes, message, string } from '../schema/types.ts'

/** As it is stored here: a bitmap in `data`, the highest bit first, whose bit n is the item n of the range. */
export const RangeAllocation = message('RangeAllocation', {
  kind: [0, string, KIND_DOC],
  apiVersion: [0, string, API_VERSION_DOC],
  metadata: [1, ObjectMeta.orEmpty(), 'What all objects have.'],
  range: [2, string.always(), 'The range, such as `30000-32767`.'],
  data: [3, bytes.always(), 'What is taken.'],
})

/** The key of the range of node ports, here and below the prefix in etcd. */
export const NODE_PORTS = '/ranges/servicenodeports'
