"""Convolutions as bounds see them: their windows and padding, whatever they are spelled like."""

from __future__ import annotations

import npuflow
from npuflow.bounds.convolution import compulsory_bytes
from npuflow.bounds.sizes import BundleSizes, ConvolutionSizes, WindowLine


def sizes_of(op: str, image: str, weights: str, result: str, before: str = "", argument: str = "") -> BundleSizes:
    source = f"""
      func.func @f(%image: tensor<{argument or image}>, %w: tensor<{weights}>) -> tensor<{result}> {{
        %zero = arith.constant 0 : i32
        %none = arith.constant 0 : i8
        {before or f"%x = tensor.cast %image : tensor<{image}> to tensor<{image}>"}
        %e = tensor.empty() : tensor<{result}>
        %f = linalg.fill ins(%zero : i32) outs(%e : tensor<{result}>) -> tensor<{result}>
        %r = {op} ins(%x, %w : tensor<{image}>, tensor<{weights}>) outs(%f : tensor<{result}>) -> tensor<{result}>
        return %r : tensor<{result}>
      }}"""
    (found,) = npuflow.compile(source, device="toy")["f"].sizes
    assert isinstance(found, BundleSizes)
    return found


def test_channels_first_with_padding_and_steps() -> None:
    pad = """%x = tensor.pad %image low[0, 0, 1, 2] high[0, 0, 2, 1] { ^bb0(%a: index, %b: index, %c: index, %d: index):
          tensor.yield %none : i8 } : tensor<2x3x14x15xi8> to tensor<2x3x17x18xi8>"""
    op = "linalg.conv_2d_nchw_fchw {strides = dense<2> : tensor<2xi64>}"
    found = sizes_of(op, "2x3x17x18xi8", "5x3x3x4xi8", "2x5x8x8xi32", pad, "2x3x14x15xi8")
    lines = WindowLine(8, 3, 2, 1, 14), WindowLine(8, 4, 2, 2, 15)
    assert found.convolution == ConvolutionSizes(2, *lines, 3, 5, 1, 1, 4, 4)
    # rows 0..13 and columns 0..14 of the image, all of which some window reaches
    assert found.needed_bytes == compulsory_bytes(found.convolution) == 2 * 3 * 14 * 15 + 5 * 3 * 3 * 4 + 2 * 5 * 64 * 4


def test_channels_last() -> None:
    found = sizes_of("linalg.conv_2d_nhwc_hwcf", "1x10x9x4xi8", "3x2x4x6xi8", "1x8x8x6xi32")
    lines = WindowLine(8, 3, 1, 0, 10), WindowLine(8, 2, 1, 0, 9)
    assert found.convolution == ConvolutionSizes(1, *lines, 4, 6, 1, 1, 4, 4)
    assert found.macs == found.convolution.macs == 64 * 6 * 3 * 2 * 4


def test_one_dimension() -> None:
    found = sizes_of("linalg.conv_1d_nwc_wcf", "2x20x4xi8", "5x4x6xi8", "2x16x6xi32")
    assert found.convolution is not None
    assert found.convolution.columns == WindowLine(16, 5, 1, 0, 20)
    assert found.convolution.rows.taps == found.convolution.rows.results == 1


def test_windows_with_gaps_and_channels_of_their_own_are_left_out() -> None:
    gaps = "linalg.conv_2d_nhwc_hwcf {dilations = dense<2> : tensor<2xi64>}"
    assert sizes_of(gaps, "1x10x10x4xi8", "2x2x4x6xi8", "1x8x8x6xi32").convolution is None
    depthwise = "linalg.depthwise_conv_2d_nhwc_hwc"
    assert sizes_of(depthwise, "1x10x10x4xi8", "3x3x4xi8", "1x8x8x4xi32").convolution is None
