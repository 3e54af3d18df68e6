// The discrete Fourier transform, for other families to build on.
#ifndef RULES_ONNX_EXPORTER_LOWERING_FFT_H_
#define RULES_ONNX_EXPORTER_LOWERING_FFT_H_

#include "exporter/lowering/complex.h"

namespace rules_onnx::lowering {

// Σ over j of x[j] · exp(∓2πi jk / n) along the axis, all n frequencies, not scaled.
Complex FourierTransform(Complex x, int axis, bool forward);

// All n frequencies of a real signal from the first n/2 + 1: the others are their conjugates.
Complex Mirrored(Complex x, int axis, Val n);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_FFT_H_
