"""Fragment programs put into VTK's own: a soft studio light for objects and a fading grid for the floor.

VTK's physically based shading costs several times more on a software renderer; this one needs no textures and no
extra pass. Light is summed in linear space: a sky and ground hemisphere, a wrapped key light, a rim light from behind,
and a Blinn highlight whose width follows the roughness. Colours come as displayed (sRGB), are made linear by a cubic
that stays within 0.01 of the standard's curve, and are encoded for the screen at the end.
"""

from __future__ import annotations

import vtkmodules.vtkRenderingOpenGL2  # noqa: F401  (registers the shader property)
from vtkmodules.vtkRenderingCore import vtkActor, vtkUniforms

OBJECT_LIGHT = """
  vec3 nkN = normalVCVSOutput;
  vec3 nkV = normalize(-vertexVC.xyz);
  float nkUp = dot(nkN, nkUpVC);
  vec3 nkSky = mix(vec3(0.120, 0.112, 0.120), vec3(0.44, 0.48, 0.56), 0.5 + 0.5 * nkUp);
  float nkKey = max((dot(nkN, nkKeyVC) + 0.25) / 1.25, 0.0);
  float nkFill = max(dot(nkN, nkFillVC), 0.0);
  vec3 nkLight = nkSky + vec3(1.12, 1.05, 0.95) * nkKey + vec3(0.18, 0.22, 0.30) * nkFill;
  vec3 nkH = normalize(nkKeyVC + nkV);
  float nkFacing = clamp(dot(nkN, nkV), 0.0, 1.0);
  float nkFresnel = pow(1.0 - nkFacing, 4.0);
  float nkSheen = pow(max(dot(nkN, nkH), 0.0), specularPower) * specularIntensity;
  vec3 nkGlow = specularColorUniform * nkSheen * nkKey
              + vec3(0.30, 0.36, 0.46) * nkFresnel * (0.675 + 0.325 * nkUp) * (0.35 + 0.4 * specularIntensity);
  vec3 nkAlbedo = diffuseColor * diffuseColor * (0.74 + 0.26 * diffuseColor);
  fragOutput0 = vec4(nkAlbedo * nkLight, opacity);
"""

OBJECT_FINISH = """
//VTK::TCoord::Impl
  if (fragOutput0.a < 0.35 * opacity) { discard; }
  fragOutput0.a = opacity;
  vec3 nkOut = fragOutput0.rgb + nkGlow;
  nkOut = nkOut / (1.0 + 0.22 * max(nkOut.r, max(nkOut.g, nkOut.b)));
  fragOutput0.rgb = pow(clamp(nkOut, 0.0, 1.0), vec3(1.0 / 2.2));
"""

FLOOR_VERTEX_DECLARE = """
//VTK::Normal::Dec
out vec2 nkFloor;
"""

FLOOR_VERTEX_WRITE = """
//VTK::Normal::Impl
  nkFloor = vertexMC.xy;
"""

FLOOR_DECLARE = """
//VTK::Normal::Dec
in vec2 nkFloor;
"""

FLOOR_LIGHT = """
  float nkDistance = length(nkFloor - nkCentre) / nkReach;
  float nkFade = 1.0 - smoothstep(0.08, 1.0, nkDistance);
  vec2 nkCell = nkFloor / nkSpacing;
  vec2 nkWidth = fwidth(nkCell);
  vec2 nkLine = abs(fract(nkCell - 0.5) - 0.5) / max(nkWidth, vec2(1e-6));
  float nkFine = (1.0 - min(min(nkLine.x, nkLine.y), 1.0)) * (1.0 - smoothstep(0.15, 0.5, max(nkWidth.x, nkWidth.y)));
  vec2 nkCoarse = abs(fract(nkCell / 5.0 - 0.5) - 0.5) / max(nkWidth / 5.0, vec2(1e-6));
  float nkBold = 1.0 - min(min(nkCoarse.x, nkCoarse.y), 1.0);
  float nkGrid = max(0.45 * nkFine, 0.8 * nkBold);
  float nkPool = 0.16 * exp(-9.0 * nkDistance * nkDistance);
  float nkAlpha = nkFade * (0.16 * nkGrid + nkPool);
  fragOutput0 = vec4(vec3(0.66, 0.74, 0.88), nkAlpha);
"""


def install_object_light(actor: vtkActor) -> vtkUniforms:
    """Give an actor the studio light; returns the uniforms that hold the light directions in view axes."""
    shader = actor.GetShaderProperty()
    shader.AddFragmentShaderReplacement("//VTK::Light::Impl", True, OBJECT_LIGHT, False)
    shader.AddFragmentShaderReplacement("//VTK::TCoord::Impl", True, OBJECT_FINISH, False)
    return shader.GetFragmentCustomUniforms()


def install_floor(actor: vtkActor) -> vtkUniforms:
    """Give an actor the fading grid; returns its uniforms."""
    shader = actor.GetShaderProperty()
    shader.AddVertexShaderReplacement("//VTK::Normal::Dec", True, FLOOR_VERTEX_DECLARE, False)
    shader.AddVertexShaderReplacement("//VTK::Normal::Impl", True, FLOOR_VERTEX_WRITE, False)
    shader.AddFragmentShaderReplacement("//VTK::Normal::Dec", True, FLOOR_DECLARE, False)
    shader.AddFragmentShaderReplacement("//VTK::Light::Impl", True, FLOOR_LIGHT, False)
    return shader.GetFragmentCustomUniforms()
