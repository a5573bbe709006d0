"""Where each bound is from, and for what it holds. All are recalled from the papers named; none is proved here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Formula:
    """A bound in words: `text` in elements, S what the fast memory has room for."""

    text: str
    source: str
    validity: str


GEMM = Formula(
    "max(2 M N K / sqrt(S) + M N, M K + K N + M N)",
    "red-blue pebbling: Hong and Kung, STOC 1981; the constant from Kwasniewski et al., SC 2019; recalled",
    "every order that computes all M N K products, each once, not Strassen's and the like; of sums of few terms, where"
    " blocks are known that move less, 2 M N K / sqrt(S) - 2 S (Smith et al. 2019, recalled) stands for it",
)
CONVOLUTION = Formula(
    "max(2 B Wo Ho Co Wk Hk Ci / sqrt(R S) + B Wo Ho Co, compulsory), R = Wk Hk / stride^2, at least 1",
    "Chen, Han, Wang, HPCA 2020; recalled",
    "direct convolution, each product computed once, no Winograd or Fourier transforms; where blocks are known that"
    " move less, the formula doesn't hold, and it is taken without the results and without 2 S",
)
CHAIN = Formula(
    "M K + K L + L N + M N",
    "what is read and written once; no sharper number is claimed",
    "both products in one, nothing kept of the product between them",
)
ATTENTION = Formula(
    "4 N d",
    "what is read and written once; N^2 d^2 / S is known to be its order (Dao et al. 2022; Saha and Ye 2024; recalled),"
    " without a number",
    "Q K^T V; what a softmax keeps, two numbers for a row, is left out",
)
PRIVATE = Formula(
    "2 M N K / (P sqrt(S)) + S for each of P memories, S no more than (M N K / P)^(2/3)",
    "Kwasniewski et al., SC 2019 (COSMA); recalled",
    "products spread evenly over P memories of S; what several receive counts for each",
)
